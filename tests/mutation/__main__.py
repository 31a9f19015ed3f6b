"""Which changes of the framework do the tests notice? ``python -m tests.mutation STEP FOLDER ...``, from the root.

    plan FOLDER --seed 1                   draw 10 mutants of each of six rooms and write a tree that holds all of them
    map FOLDER default -- -m "not slow"    run a tier of the tests once: which of them come by which mutant
    run FOLDER default                     wake the mutants one by one, each under the tests that come by
    map FOLDER slow -- -m slow             a second tier, of which
    run FOLDER slow                        only the survivors meet the tests
    report FOLDER                          the table, and the share that each tier kills

The tests of another version of the tree meet the survivors in a folder of their own: `plan OTHER --tree PATH --same
FOLDER` finds the survivors again where their line is the same; `map` and `run` follow as above, and
`report FOLDER --against OTHER` compares. Results are kept after each mutant: what was cut off goes on where it stood.
`report` writes all of them into report.json too.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from .sites import ROOMS, Site, found_again, sample, write_all

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROBE = "forecast._mutation_probe"
#: Tests are run from cheap to dear: all below the first limit (seconds), then all below the next.
COSTS_S = (0.1, 1.0, 5.0)
#: A test that takes longer than this and that many times what it took is taken for one that does not end.
LIMIT_S, LIMIT_FACTOR = 60.0, 10.0
#: What a process may write to, so that a mutant fails before the machine does; a browser reserves far more than that.
MAX_MEMORY_BYTES = 12 * 2**30


def load(path: Path) -> Any:
    """Read a JSON file; none is an empty object."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def save(path: Path, data: Any) -> None:
    """Write a JSON file whole."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(data, indent=1, ensure_ascii=False), encoding="utf-8")
    new.replace(path)


class Work:
    """A folder in which mutants are tried: the plan, the tree that holds them, the maps and the results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.tree, self.support = self.folder / "tree", self.folder / "support"
        self.plan = load(self.folder / "plan.json")
        self.sites = {int(k): Site(**s) for k, s in self.plan.get("mutants", {}).items()}

    def map(self, tier: str) -> Any:
        """Return the map of a tier."""
        found = load(self.folder / f"map-{tier}.json")
        if not found:
            raise SystemExit(f"no map of the tier {tier!r}: run the step `map` first")
        return found

    @property
    def results(self) -> dict[str, dict[str, Any]]:
        """What became of each mutant, a tier after the other."""
        return load(self.folder / "results.json")

    def environment(self, **more: object) -> dict[str, str]:
        """Return the environment in which the tree is the one that is imported, also by processes that tests start."""
        shelves = [self.tree, self.tree / "plugins", self.tree / "datasets", self.support]
        ours = {k: v for k, v in os.environ.items() if not k.startswith("FORECAST_MUTANT")}
        temporary = self.folder / "temporary"
        temporary.mkdir(exist_ok=True)
        return {
            "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **ours,
            "PYTHONPATH": os.pathsep.join(map(str, shelves)), "PYTEST_DEBUG_TEMPROOT": str(temporary),
            **{f"FORECAST_MUTANT{k}": str(v) for k, v in more.items()},
        }  # fmt: skip

    def check(self) -> None:
        """Refuse a tree that is not the one that is imported."""
        modules = "forecast", "forecast_scaling", "forecast_datasets"
        code = "\n".join(["import " + ", ".join((PROBE, *modules)), *(f"print({m}.__file__)" for m in modules)])
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd="/", env=self.environment(), capture_output=True, text=True, check=False)
        files = done.stdout.split("\n")[:-1]
        if done.returncode or not files or not all(Path(f).is_relative_to(self.tree) for f in files):
            raise SystemExit(f"the tree with the mutants is not the one that is imported: {files}\n{done.stderr}")


def pytest(work: Work, words: Iterable[str], environment: dict[str, str], **options: Any) -> subprocess.Popen[Any]:
    """Start pytest on the tree, in a group of processes of its own."""
    command = [sys.executable, "-m", "pytest", "-p", "mutation_recorder", "-p", "no:cacheprovider", *words]
    return subprocess.Popen(command, cwd=work.tree, env=environment, start_new_session=True, **options)


# --- plan -------------------------------------------------------------------------------------------------------------


def tracked(tree: Path) -> list[str]:
    """Return the files of a checkout, with new ones, without those that git ignores."""
    command = ["git", "-C", str(tree), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
    return [name for name in names if name and (tree / name).is_file()]


def plan(asked: argparse.Namespace) -> None:
    """Draw the mutants and write the tree."""
    work = Work(asked.folder)
    if work.plan:
        raise SystemExit(f"{work.folder} holds a plan; take another folder")
    if asked.same:
        before = Work(asked.same)
        survivors = [k for k in before.sites if not killer(before.results.get(str(k), {}))]
        again = found_again(asked.tree, [before.sites[k] for k in survivors])
        sites = {k: s for k, s in zip(survivors, again, strict=True) if s is not None}
        lost = [k for k, s in zip(survivors, again, strict=True) if s is None]
        how: dict[str, Any] = {"same": str(before.folder), "lost": lost, "seed": before.plan["seed"]}
        print(f"{len(sites)} survivors found again; the line is another one for {lost}")
    else:
        sites = dict(enumerate(sample(asked.tree, asked.seed, asked.each)))
        how = {"seed": asked.seed, "each": asked.each, "rooms": ROOMS}
    for name in tracked(asked.tree):
        (work.tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(asked.tree / name, work.tree / name, follow_symlinks=False)
    work.support.mkdir()
    shutil.copy(HERE / "mutation_recorder.py", work.support)
    shutil.copy(HERE / "probe.py", work.tree / f"{PROBE.replace('.', '/')}.py")
    write_all(work.tree, sites.items(), PROBE)
    head = ["git", "-C", str(asked.tree), "describe", "--always", "--dirty"]
    revision = subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()
    save(work.folder / "plan.json", {**how, "revision": revision, "mutants": {k: s.json() for k, s in sites.items()}})
    for path in sorted({s.path for s in sites.values()}):
        compile((work.tree / path).read_text(encoding="utf-8"), path, "exec")
    work.check()
    for k, s in sites.items():
        print(f"{k:3} {described(s)}")


def described(site: Site) -> str:
    """Return where the site is and what changes, in a line."""
    new = site.mutated or "(left out)"
    return f"{site.path}:{site.line}:{site.column + 1}: {' '.join(site.original.split())[:60]} -> {new[:60]}"


# --- map --------------------------------------------------------------------------------------------------------------


class Record:
    """What the probe and the recorder noted: who came by, who uses what others computed, how tests ended."""

    def __init__(self, path: Path) -> None:
        self.came: dict[int, set[str]] = defaultdict(set)
        self.users: dict[str, set[str]] = defaultdict(set)
        self.seconds: dict[str, float] = defaultdict(float)
        self.outcomes: dict[str, set[str]] = defaultdict(set)
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                what, *words = line.rstrip("\n").split("\t")
                if what == "site":
                    self.came[int(words[1])].add(words[0])
                elif what == "uses":
                    self.users[words[1]].add(words[0])
                else:
                    self.seconds[words[0]] += float(words[2])
                    self.outcomes[words[0]].add(words[1])

    @property
    def passed(self) -> list[str]:
        """The tests that pass without a mutant, in the order in which they ran."""
        return [test for test, outcomes in self.outcomes.items() if outcomes == {"passed"}]

    def reach(self, number: int, site: Site) -> list[str]:
        """Return the tests that come by; where it is on import, all of the room too."""
        waiting, seen = list(self.came[number]), set(self.came[number])
        while waiting:
            for user in self.users[waiting.pop()] - seen:
                seen.add(user)
                waiting.append(user)
        tests = {who.removeprefix("test ") for who in seen if who.startswith("test ")}
        files = {who.removeprefix("file ") for who in seen if who.startswith("file ")}
        rooms = [f"tests/{site.room}/"] if site.at_import or files or "" in seen else []
        return [
            test
            for test in self.passed
            if test in tests or test.partition("::")[0] in files or any(map(test.startswith, rooms))
        ]


def map_tier(asked: argparse.Namespace) -> None:
    """Run a tier of the tests once, and note which come by where."""
    work = Work(asked.folder)
    work.check()
    hits = work.folder / f"hits-{asked.tier}.txt"
    hits.unlink(missing_ok=True)
    save(work.folder / "results.json", {k: {t: r for t, r in result.items() if t != asked.tier}
                                        for k, result in work.results.items()})  # fmt: skip
    words = ["-q", "-n", str(asked.workers), "--dist", "worksteal"] if asked.workers > 1 else ["-q"]
    code = pytest(work, [*words, *asked.words], work.environment(_HITS=hits)).wait()
    if code not in (0, 1):
        raise SystemExit(f"pytest ended with {code}: there is no map")
    make_map(work, asked.tier, asked.words)


def make_map(work: Work, tier: str, words: list[str]) -> None:
    """Write the map of a tier from what was noted."""
    record = Record(work.folder / f"hits-{tier}.txt")
    failed = [test for test, outcomes in record.outcomes.items() if "failed" in outcomes]
    reached = {k: record.reach(k, s) for k, s in work.sites.items()}
    seconds = {test: round(record.seconds[test], 4) for test in record.passed}
    save(work.folder / f"map-{tier}.json", {"words": words, "failed": failed, "seconds": seconds, "reached": reached})
    none = [k for k, tests in reached.items() if not tests]
    print(f"{len(seconds)} tests pass and count, {sum(seconds.values()):.0f} s; left out because they fail: {failed}")
    print(f"mutants that none of them reaches: {none}")
    for k, s in work.sites.items():
        print(f"{k:3} {len(reached[k]):5} tests, {sum(seconds[t] for t in reached[k]):7.1f} s: {described(s)}")


# --- run --------------------------------------------------------------------------------------------------------------


def killer(result: dict[str, Any]) -> dict[str, Any] | None:
    """Return the tier and the test that killed it."""
    return next(({"tier": t, **r["killed"]} for t, r in result.items() if r.get("killed")), None)


def order(tests: Iterable[str], seconds: dict[str, float], room: str) -> list[str]:
    """Return the tests from cheap to dear, those of the room before others, those of a file together."""

    def cost(test: str) -> tuple[int, bool]:
        return sum(seconds[test] >= c for c in COSTS_S), not test.startswith(f"tests/{room}/")

    place = {t: i for i, t in enumerate(seconds)}
    return sorted(tests, key=lambda t: (*cost(t), t.partition("::")[0], place[t]))


def within(tests: list[str], seconds: dict[str, float], budget: float) -> Iterator[str]:
    """Yield the first tests, as many as the budget (seconds) allows, and at least one."""
    spent = 0.0
    for i, test in enumerate(tests):
        spent += seconds[test]
        if i and spent > budget:
            return
        yield test


def wake(work: Work, number: int, tests: list[str], seconds: dict[str, float], *words: str) -> dict[str, Any]:
    """Run these tests with a mutant awake (-1: with none): the report of the plugin, and how the process ended."""
    name = f"{os.getpid()}-{number}"
    asked, report = work.folder / f"asked-{name}.json", work.folder / f"report-{name}.json"
    report.unlink(missing_ok=True)
    limits = {t: LIMIT_S + LIMIT_FACTOR * seconds[t] for t in tests}
    save(asked, {"report": str(report), "limits": limits})
    environment = work.environment(**{"": number}, _TESTS=asked)
    temporary = Path(environment["PYTEST_DEBUG_TEMPROOT"]) / name
    temporary.mkdir(parents=True, exist_ok=True)
    environment["PYTEST_DEBUG_TEMPROOT"] = str(temporary)
    files = list(dict.fromkeys(t.partition("::")[0] for t in tests))
    log = work.folder / "logs" / f"{number}.txt"
    log.parent.mkdir(exist_ok=True)
    late = False
    with log.open("w", encoding="utf-8") as out:
        process = pytest(work, ["-q", "--tb=short", *words, *files], environment, stdout=out, stderr=subprocess.STDOUT)
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
        try:
            process.wait(3 * LIMIT_S + LIMIT_FACTOR * sum(seconds[t] for t in tests))
        except subprocess.TimeoutExpired:
            late = True
        finally:
            # what the tests started belongs to the group, and may run on after them
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    said = {"code": process.returncode, "late": late, **load(report)}
    shutil.rmtree(temporary, ignore_errors=True)
    asked.unlink()
    report.unlink(missing_ok=True)
    return said


def judged(said: dict[str, Any]) -> dict[str, str] | None:
    """Return what killed the mutant and how; none if it lives."""
    if said.get("failed"):
        test, why = said["failed"][0]
        return {"test": test, "why": why}
    if said["late"] or said.get("running"):
        why = "did not end in time" if said["late"] else "did not end in time, or ended the process"
        return {"test": said.get("running") or "", "why": why}
    if said["code"] not in (0, 5):
        return {"test": "", "why": f"the tests could not start (exit code {said['code']})"}
    return None


def try_one(work: Work, tier: str, number: int, budget: float) -> dict[str, Any]:
    """Run the tests of a tier on a mutant until one fails, from where the last run stopped."""
    known = work.map(tier)
    seconds, result = known["seconds"], work.results.get(str(number), {}).get(tier, {})
    tests = order(known["reached"][str(number)], seconds, work.sites[number].room)
    met = result.get("met", 0)
    now = list(within(tests[met:], seconds, budget))
    sound = [t for t in now if t not in known["failed"]]
    if not sound:
        return {"met": met + len(now), "of": len(tests), "killed": None}
    said = wake(work, number, sound, seconds, "-x")
    if missing := said.get("missing"):
        print(f"{number:3} {len(missing)} of {len(sound)} tests are not collected with it, as {missing[0]}")
    killed = judged(said)
    return {"met": met + (said.get("passed", 0) + 1 if killed else len(now)), "of": len(tests), "killed": killed}


def run(asked: argparse.Namespace) -> None:
    """Wake the mutants that live, each under the tests of a tier that come by."""
    work = Work(asked.folder)
    work.check()
    known = work.map(asked.tier)

    def open_mutants() -> list[int]:
        results = {k: work.results.get(str(k), {}) for k in work.sites if not asked.only or k in asked.only}
        alive = {k: r.get(asked.tier, {}) for k, r in results.items() if not killer(r)}
        return [k for k, r in alive.items() if r.get("met") != len(known["reached"][str(k)])]

    def keep(number: int, result: dict[str, Any]) -> None:
        results = work.results
        results.setdefault(str(number), {})[asked.tier] = result
        save(work.folder / "results.json", results)
        killed = result["killed"]
        how = f"killed by {killed['test']}: {killed['why'][:90]}" if killed else "lives"
        print(f"{number:3} {how} ({result['met']} of {result['of']} tests)", flush=True)

    while waiting := open_mutants():
        with ThreadPoolExecutor(asked.workers) as pool:
            tried = {pool.submit(try_one, work, asked.tier, k, asked.budget): k for k in waiting}
            for one in as_completed(tried):
                keep(tried[one], one.result())
        if not confirm(work, asked.tier):
            break


def confirm(work: Work, tier: str) -> list[str]:
    """Run the tests that killed once more, with no mutant: those that fail are left out, their mutants live again."""
    known, results = work.map(tier), work.results
    killers = {r[tier]["killed"]["test"] for r in results.values() if r.get(tier, {}).get("killed")}
    done = {*known.get("confirmed", []), *known["failed"]}
    tests = [t for t in known["seconds"] if t in killers - done]
    if not tests:
        return []
    said = wake(work, -1, tests, known["seconds"])
    wrong = sorted({test for test, _ in said.get("failed", [])} | ({said["running"]} if said.get("running") else set()))
    for test in wrong:
        print(f"fails without a mutant too, and is left out: {test}")
        known["failed"].append(test)
    known["confirmed"] = sorted({*known.get("confirmed", []), *tests} - set(wrong))
    save(work.folder / f"map-{tier}.json", known)
    for result in results.values():
        if (result.get(tier, {}).get("killed") or {}).get("test") in wrong:
            del result[tier]
    save(work.folder / "results.json", results)
    return wrong


# --- report -----------------------------------------------------------------------------------------------------------


def report(asked: argparse.Namespace) -> None:
    """Print what became of each mutant, and the share that each tier kills."""
    work = Work(asked.folder)
    results = work.results
    before = Work(asked.against) if asked.against else None
    tiers = list(dict.fromkeys(t for r in results.values() for t in r))
    mapped = [path.stem.removeprefix("map-") for path in work.folder.glob("map-*.json")]
    count = dict.fromkeys(tiers, 0)
    survivors, untried, rows = [], [], []
    print(f"revision {work.plan['revision']}, seed {work.plan['seed']}, {len(work.sites)} mutants\n")
    for k, site in work.sites.items():
        result = results.get(str(k), {})
        killed = killer(result)
        if killed:
            count[killed["tier"]] += 1
            end = f"{killed['tier']}: {killed['test'] or killed['why']}"
        else:
            met = ", ".join(f"{r['met']} of {r['of']} tests of {t}" for t, r in result.items())
            complete = all(t in result and result[t]["met"] == result[t]["of"] for t in mapped)
            (survivors if complete else untried).append(k)
            end = f"LIVES ({met or 'not tried'})"
        rows.append({"number": k, "site": described(site), "kind": site.kind, "killed": killed, "tiers": result})
        print(f"{k:3} {site.kind:10} {described(site)}\n    {end}")
    save(work.folder / "report.json", {"revision": work.plan["revision"], "seed": work.plan["seed"], "mutants": rows})
    print("\nkilled " + ", ".join(f"{n} by {t}" for t, n in count.items()) + f"; live {len(survivors)}: {survivors}")
    if untried:
        print(f"not all tests were tried on {untried}: shares are not final")
    if before:
        also = {int(k): found for k, r in before.results.items() if (found := killer(r))}
        lost = {k: r for k, r in also.items() if k in survivors}
        for k, how in lost.items():
            print(f"{k:3} lives here and is killed there by {how['test'] or how['why']}")
        print(f"not compared, because the line is another one there: {before.plan.get('lost', [])}")
        total = sum(count.values()) + len(lost)
    else:
        total = sum(count.values())
    for tier in tiers[: 1 if total else 0]:
        share = 100 * count[tier] / total
        print(f"{tier} kills {count[tier]} of the {total} that any of these tests kills: {share:.1f} %")


def main() -> None:
    """Take the step that is asked for."""
    words = sys.argv[1:]
    further = words[words.index("--") + 1 :] if "--" in words else []
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    steps = parser.add_subparsers(required=True, metavar="STEP")

    def step(name: str, function: Any, help: str) -> argparse.ArgumentParser:
        one = steps.add_parser(name, help=help)
        one.add_argument("folder", type=Path, help="where the plan, the tree and the results are")
        one.set_defaults(function=function, words=further)
        return one

    one = step("plan", plan, "draw the mutants and write the tree that holds them")
    one.add_argument("--seed", type=int, default=1)
    one.add_argument("--each", type=int, default=10, metavar="N", help="mutants of each room  [default: 10]")
    one.add_argument("--tree", type=Path, default=ROOT, help="the checkout  [default: this one]")
    one.add_argument("--same", type=Path, metavar="FOLDER", help="take the survivors of another plan")
    one = step("map", map_tier, "run a tier once; words after -- go to pytest")
    one.add_argument("tier", help="a name for these tests")
    one.add_argument("--workers", type=int, default=2, metavar="N")
    one = step("run", run, "wake the mutants that live")
    one.add_argument("tier")
    one.add_argument("--only", type=int, nargs="+", metavar="N", help="these mutants only")
    one.add_argument("--workers", type=int, default=1, metavar="N", help="mutants at a time  [default: 1]")
    one.add_argument("--budget", type=float, default=float("inf"), metavar="SECONDS", help="of tests for each mutant;"
                     " the next run goes on behind them  [default: all tests]")  # fmt: skip
    one = step("report", report, "print the table")
    one.add_argument("--against", type=Path, metavar="FOLDER", help="the same mutants under other tests")
    asked = parser.parse_args(words[: words.index("--")] if "--" in words else words)
    asked.function(asked)


if __name__ == "__main__":
    main()
