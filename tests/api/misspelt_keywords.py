"""Ten misspelt keywords, each of which a type checker finds: an ignored error that is none is an error of mypy's."""

import forecast

x = forecast.uncertain(p05=1, p95=4, name="x")
answer = (x >= 2).when(start=2025, until=2030)
(x >= 2).when(untill=2030)  # type: ignore[call-arg]
forecast.ask(when=x >= 2, drawes=10)  # type: ignore[call-arg]
forecast.ask(whn=x >= 2)  # type: ignore[call-arg]
forecast.scenario("brain-parity").ask(sed=1)  # type: ignore[call-arg]
forecast.project("brain-parity", draw=10)  # type: ignore[call-arg]
forecast.project("brain-parity", swap={})  # type: ignore[call-arg]
answer.needed("x", dates=2027)  # type: ignore[call-arg]
answer.what_if("x", grow="0.5*", since=2026)  # type: ignore[call-arg]
answer.probability(on=2027)  # type: ignore[call-arg]
answer.sensitivity(totals=True)  # type: ignore[call-arg]
