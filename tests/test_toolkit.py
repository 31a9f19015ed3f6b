"""The toolkit itself, where a fault in it would hide faults elsewhere."""

import pytest

from toolkit import every, json_of


def try_four() -> None:
    with every() as case:
        for name in "abcd":
            with case(name):
                if name == "b":
                    raise ValueError("odd")
                if name == "d":
                    pytest.fail("different")


def test_every_failing_case_is_named():
    with pytest.raises(AssertionError, match=r"^2 failed:\nb: ValueError: odd\nd: Failed: different"):
        try_four()


def test_an_interrupt_is_no_failing_case():
    with pytest.raises(KeyboardInterrupt), every() as case, case("a"):
        raise KeyboardInterrupt


@pytest.mark.parametrize("text", ["NaN", "[Infinity]"])
def test_what_is_no_json_is_refused(text):
    with pytest.raises(AssertionError, match="is no JSON"):
        json_of(text)
