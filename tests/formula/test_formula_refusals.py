"""The safe grammar: conditions, and what it refuses."""

import warnings

import pytest

from forecast.errors import FormulaError
from forecast.formula import check_name, parse, parse_condition, parse_expression, parse_row_condition


def refused(text, read=parse, **options):
    """Read what must be refused; return the message."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(FormulaError) as caught:
            read(text, **options)
    message = str(caught.value)
    assert message.isprintable()
    return message


# --- conditions -------------------------------------------------------------------------------------------------------


def test_conditions():
    condition = parse_condition("machine>=brain/2")
    assert (condition.left.text, condition.op, condition.right.text) == ("machine", ">=", "brain/2")
    assert condition.text == "machine >= brain/2"
    assert condition.names == ("machine", "brain")
    below = parse_condition("price < 100")
    assert (below.greater_side.text, below.lesser_side.text) == ("100", "price")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a < b < c", "not chained; a condition is one comparison: write min(a < b, b < c) >= 1 where each must hold"),
        ("(a + 1) < b < c", "write min(a > b, b > c) >= 1"),
        ("a < 1 GB < c", "write min(a < 1 GB, 1 GB < c) >= 1"),
        ("a + b", "expected one comparison: >=, >, <=, < or =="),
        ("a > b and c > d", "'and': a condition is one comparison: write min(a > b, c > d) >= 1"),
        ("a > b or c > d", "max(a > b, c > d) >= 1 where one will do"),
        ("where(a > b and c > d, 1, 2) > 1", "write min(a > b, c > d) >= 1"),
        ("a != b", "write == and swap"),
        ("a is b", "'is' is a Python keyword"),
        ("a > __import__('os').system('x')", "attribute access"),
        ("a > 'b'", "a text is compared with the name of a quantity, by =="),
        ("'a' == 'b'", "a text is compared with the name of a quantity"),
        ("a > 9**9**9", "out of range"),
        ("a in b", "'in' is a Python keyword"),
        (7, "expected text, got int"),
    ],
)
def test_conditions_refused(text, says):
    message = refused(text, parse_condition, where="s.toml [questions.q] when")
    assert says in message
    assert message.startswith("s.toml [questions.q] when: ")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a < b < c", "exactly one"),
        ("a == b", "one of >=, >, <=, <"),
        ("a + b", "expected one comparison"),
        ("a > b and c > d", "'and' is a Python keyword"),
        ("a > 'b'", "text in quotes is outside the grammar; it belongs to the expressions of scenarios"),
        ("a > 1 GB", "does not parse"),
        ("previous(a) > 1", "unknown function 'previous'; it belongs to the expressions of scenarios"),
    ],
)
def test_conditions_on_rows_keep_to_the_grammar_of_laws(text, says):
    assert says in refused(text, parse_row_condition)


# --- what it refuses --------------------------------------------------------------------------------------------------


def test_bad_input_001_import_and_system(tmp_path):
    marker = tmp_path / "P"
    text = f"__import__('os').system('touch {marker}')"
    assert "attribute access '.system' is outside the grammar (position 1)" in refused(text)
    for place in (f"1 + {text}", f"exp({text})", f"max(1, {text})", f"-{text}", f"x**{text}"):
        refused(place)
        refused(f"x > {place}", parse_condition)
    assert not marker.exists()


def test_bad_input_002_ways_out_through_attributes():
    for text in (
        "().__class__.__base__.__subclasses__()[0].__init__.__globals__['system']('x')",
        "().__class__",
        "x.__class__",
        "exp.__globals__",
        "x[0]",
        "(1).real",
        "'{0.__class__}'.format(x)",
        "f'{x.__class__}'",
    ):
        message = refused(text)
        assert "outside the grammar" in message or "no function" in message


def test_bad_input_004_hostile_names(tmp_path):
    marker = tmp_path / "P"
    for name in (
        f"__import__('os').system('touch {marker}')",
        "a b",
        "a-b",
        "1a",
        "",
        "__x",
        "x" * 65,
        "а",
        "x\n",
        "x\x00",
        None,
        3,
    ):
        assert "name" in refused(name, check_name)
    assert not marker.exists()


def test_bad_input_005_names_that_shadow():
    for name in (
        "exp",
        "min",
        "pi",
        "lambda",
        "None",
        "True",
        "False",
        "nan",
        "inf",
        "oo",
        "zoo",
        "draw",
        "time",
        "point",
        "level",
    ):
        assert f"try '{name}_'" in refused(name, check_name)
        if name != "pi":  # in a formula it is the constant
            refused(f"2*{name}")
        assert check_name(f"{name}_") == f"{name}_"
    for name in ("E", "I", "N", "S", "O", "Q", "C", "beta", "gamma", "zeta", "lambda_", "_x", "Symbol", "x" * 64):
        assert parse(check_name(name)).names == (name,)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("9**9**9", "the constant '9**9**9' is out of range"), ("2**(10**9)", "out of range"),
        ("x**(10**9)", "power is too large"), ("factorial(10**7)", "unknown function 'factorial'"),
        ("+".join(["a"] * 100_000), "characters"), ("+".join(["a"] * 1900), "deep"),
        ("(" * 5000 + "x" + ")" * 5000, "characters"), ("(" * 150 + "x" + ")" * 150, "nested parentheses"),
        ("exp(" * 59 + "x" + "**x" * 100 + ")" * 59, "deep"), ("-" * 3000 + "x", "nested"),
        ("x**" * 1000 + "x", "deep"), ("(a+b+c+d)**200", "expand to more than"),
        ("((a+b)**100)**100", "expand to more than"), ("((x**50)**50)**50", "power is too large"),
        ("1" * 5000, "characters"), ("1" * 3000, "digits"), ("1e400", "too large"),
        ("*".join(["(a+b)"] * 40), "expand"), ("1/0", "a division by zero has no value"),
        ("x/(2 - 2)", "a division by zero has no value"), ("log(0)", "out of range"), ("sqrt(-1)", "no number"),
    ],
)  # fmt: skip
def test_bad_input_075_pathological_sizes(text, says):
    assert says in refused(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a*x^b", "write ** (position 4)"), ("2x", "explicit * between number and name (position 1)"),
        ("3 + 2x", "(position 5)"), ("a·x", "write * for a product (position 2)"), ("a×x", "write * for a product"),
        ("10%", "write 0.1 for 10% (position 3)"), ("10% * x", "write 0.1 for 10%"), ("a % b", "write 0.1 for 10%"),
        ("a − b", "write - for a minus"), ("x²", "write ** for a power"), ("β*x", "like alpha"),
        ("2(x)", "explicit *"), ("x(y)", "explicit *"), ("a b", "write every *"), ("y = a*x", "no '='"),
        ("sqr(x)", "did you mean 'sqrt'?"), ("x // y", "write /"),
    ],
)  # fmt: skip
def test_bad_input_078_hints(text, hint):
    assert hint in refused(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "   ", "()", "(", ")", "*", "a +", "a,b", "[a]", "{a}", "{a: b}", "'a'", '"a"', "b'a'", "1j", "0x1F",
        "1_000", "007", "...", "True", "None", "lambda x: x", "[x for x in y]", "{x for x in y}", "(x for x in y)",
        "(x := 1)", "x := 1", "f'{x}'", "a if b else c", "a and b", "not a", "~a", "a < b", "a == b", "a @ b", "a | b",
        "a << b", "a; b", "a # b", "a \\\n b", "a\x00b", "a\x1b[2Jb", "`a`", "a!", "$a", "a?", "exp()", "exp(a, b)",
        "exp(x=1)", "exp(*a)", "exp(**a)", "max(a)", "max(1,2,3,4,5,6,7,8,9)", "print(a)", "yield a", "await a",
        "import os", "а + b", "ｅxp(x)", "\ud800", "1if a else 2", "1e5e5", "1.2.3", "exp", "Exp(x)", "__a__", "a" * 65,
        None, 3, b"a",
    ],
)  # fmt: skip
def test_everything_else_is_refused(text):
    assert "formula" in refused(text)


def test_messages_say_where_and_hide_nothing_unprintable():
    message = refused("a\x1b[2J", where="file.toml [quantities.q]")
    assert message.startswith("file.toml [quantities.q]: formula 'a\\x1b[2J': character '\\x1b'")
    assert "name 'time': is a dimension of every result" in refused("2*time", where="here")


# --- what belongs to scenarios ----------------------------------------------------------------------------------------

UNIT_ENDS = "a unit after a number ends at a comma, a bracket, a comparison, or an operator between blanks"


@pytest.mark.parametrize(
    "text", ["clip(a, 0, 1)", "where(a, b, c)", "growth(a)", "a > b", "[a, b]", "ces([a, b], [c, d], e)", "a + 'super'"]
)
def test_a_law_has_nothing_that_belongs_to_scenarios(text):
    assert "belongs to the expressions of scenarios" in refused(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x >= 1 GB/s*2", UNIT_ENDS),
        ("x >= 1GB", "or a space before a unit"),
        ("kind > 'a'", "compared with the name of a quantity, by =="),
        ("x + 'a'", "it may only be compared"),
        ("kind == ''", "1 to 64 plain characters"),
        ("kind == f'{x}'", "outside the grammar"),
        ("kind == b'a'", "bytes is outside the grammar"),
        ('kind == """a"""', "plain characters in quotes"),
        ("kind == 'a' 'b'", "plain characters in quotes"),
        ("[x, y]", "only a function that asks for a list takes one"),
        ("max([x, y], 1)", "only a function that asks for a list takes one"),
        ("ces(x, y, 1)", "ces() expects a list of 2 to 8 here"),
        ("ces([x], [1], 1)", "ces() expects a list of 2 to 8 here"),
        ("ces([x, y], [w, v, u], 1)", "ces() expects lists of one length"),
        ("lag(x)", "lag() takes 2 arguments, got 1"),
        ("growth(x, 1, 2)", "growth() takes 1 to 2 arguments, got 3"),
        ("softmin(x, 4)", "softmin() takes 3 to 9 arguments, got 2"),
        ("previous()", "previous() takes 1 argument, got 0"),
        ("previus(x)", "did you mean 'previous'?"),
        ("x**(10**9)", "power is too large"),
        ("where(x > 9**9**9, 1, 2)", "out of range"),
        ("(x > y)*" * 300 + "1", "more than"),
        ("previous(" * 61 + "x" + ")" * 61, "nested parentheses"),
        ("softmin(1, 2, 0)", "is no number"),
        ("ces([1, 2], [0.5, 0.6], 1) + x", "is no number"),
        ("log(x).y > 1", "attribute access"),
        ("x.__class__ > 1", "expected letters, digits and underscores"),
        ("x.y.log > 1", "is the name of a function"),
        ("x.y(2) > 1", "something that is no function"),
        ("x if y > 1 else z", "'if' is a Python keyword and no part of an expression"),
        ("x > 1 a/" + "(" * 50 + "**2" * 1000, UNIT_ENDS),
    ],
)
def test_expressions_refused(text, says):
    assert says in refused(text, parse_expression, where="s.toml")
