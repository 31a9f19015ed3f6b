"""Emergence as a user meets it: the commands as processes of their own, their answers."""

import pytest

from toolkit import command, sample

run, claims, fit = command("run"), command("claims"), command("fit")


SCENARIOS = {
    "emergence": (
        "by the law with a jump.",
        ("everywhere", "foretold"),
        ("it forecasts the count tolerably and misses the layers and the magnitude", "none by 1e+13 with probability"),
    ),
    "precision": (
        "4 bits a weight lose least when quantised after training (",
        ("train", "harmless"),
        ("30M to 220M parameters",),
    ),
    "token-cost": (
        "A million tokens as good as GPT-4 of 2023 (MMLU) cost 1 cent by",
        ("one_cent", "cheapest"),
        ("TFLOP/s",),
    ),
}


@pytest.mark.parametrize("name", sample(SCENARIOS, 3))
def test_a_scenario_answers_what_it_asks(name, capsys):
    headline, asked, notes = SCENARIOS[name]
    done = run(capsys, name, "--json")
    assert done.code == 0
    # relations carried far outside their data say so, and nothing else is said
    assert all("outside the data it was fitted to" in line for line in done.json["warnings"])
    result = done.json["result"]
    assert headline in result["headline"]
    assert set(asked) <= {row["name"] for key in ("questions", "rankings") for row in result.get(key, ())}
    assert all(note in done.out for note in notes)


def test_wrong_use_is_one_line_that_names_both_sides(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.toml").write_text(
        'title = "t"\nstart = 2025\nuntil = 2026\n'
        '[quantities.PPL]\nvalue = 12.0\nunit = ""\nqualifiers = { tokenizer = "llama" }\n'
        '[quantities.count]\nmodel = "emergence/outlier-count"\n'
    )
    said = run(capsys, "other.toml").refused()
    assert "'emergence/outlier-count.PPL' is tokenizer gpt2-bpe, 'PPL' is tokenizer llama" in said
    said = run(capsys, "precision", "--set", "trained=4", "--set", "emergence/width-4-bit.bits=3").refused()
    assert "3 bits keep nothing of the parameters (N_eff <= 0)" in said
    assert "more than 3.11 bits for activations" in said
    (tmp_path / "scores.csv").write_text("S,right,asked\n" + "".join(f"{i},{2 + i},100\n" for i in range(9)))
    done = fit(
        capsys, "scaling/observational", "--data", "scores.csv", "--y", "right", "--objective", "binomial",
        "--option", "trials=asked", "--option", "chance=0.25",
    )  # fmt: skip
    assert "the chance floor 0.25 lies above the score 0.02" in done.refusal
