"""Names of what plugins bring, which show with their titles."""

from __future__ import annotations


class Catalogue(list[str]):
    """Full names, which show with their titles.

    Parameters
    ----------
    titles : dict of str to str
        By full name.
    """

    def __init__(self, titles: dict[str, str]) -> None:
        super().__init__(titles)
        self.titles = titles

    def __repr__(self) -> str:
        """Show a line each: the name and its title."""
        width = max(map(len, self), default=0)
        return "\n".join(f"{name:<{width}}  {self.titles.get(name, '')}".rstrip() for name in self)

    def _repr_html_(self) -> str:
        from html import escape

        rows = (f"<tr><td>{escape(name)}</td><td>{escape(self.titles.get(name, ''))}</td></tr>" for name in self)
        return f"<table><thead><tr><th>name</th><th>title</th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
