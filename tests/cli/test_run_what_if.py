"""``forecast run --what-if``."""

TEXT = """
start = 2025
until = 2050
[quantities.machine]
expression = "exp(0.2*(t - start))"
[questions.q]
when = "machine >= 10"
"""


def test_a_what_if_is_in_the_sentence_and_in_json(said, scenario):
    path = scenario(TEXT)
    words = ["--what-if", "machine.growth*0.5 since 2028 until 2032", "--what-if", "machine = 2 since 2026 until 2027"]
    code, out, err = said("run", path, "--draws", "20", *words)
    assert (code, err) == (0, "")
    said_so = " ".join(out.partition("\n\n")[0].split())
    changed = "; with machine.growth*0.5 since 2028 until 2032, machine = 2 since 2026 until 2027"
    assert said_so.endswith(f"{changed}, which moves the date 2 years later.")
    record = said("run", path, "--draws", "20", *words, "--json").json
    assert record["provenance"]["changes"][0] == {"of": "machine", "growth": 0.5, "since": 2028, "until": 2032}
    late, soon = (
        said("run", path, "--draws", "20", *more, "--json").json["result"]["questions"][0]["crossing"]["p50"]
        for more in (words[:2], ())
    )
    # ln(10)/0.2 = 11.5 years, and half of four years is lost
    assert (soon[:7], late[:7]) == ("2036-07", "2038-07")
