"""One page that holds an answer: to read, to steer by conditioning on its worlds, and to send."""

from forecast.report.page.security_policy import policy, style
from forecast.report.page.write_page import (
    Served,
    check_format,
    html,
    live,
    page_part,
    template_environment,
    write_page,
)

__all__ = [
    "Served",
    "check_format",
    "html",
    "live",
    "page_part",
    "policy",
    "style",
    "template_environment",
    "write_page",
]
