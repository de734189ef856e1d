"""Charts by hand: axes, lines that coincide, bars, and the numbers beside them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.outcome import Figure, PlaceName, Series, Table
from p4mesh.report.document import Chart, Paragraph
from p4mesh.report.figures import chart_of, figures_of
from p4mesh.report.line_charts import axis_of, line_chart

SIZE = Column("frame_size_bytes", "Frame size", "B")
RATE = Column("rate_pct", "Rate", "% of line", 2)


def test_seven_lines_differ_in_colour_mark_dash_and_width() -> None:
    series = tuple(
        Series(f"{size} B", ((10.0, 10.0), (100.0, 100.0 - 10 * place)))
        for place, size in enumerate((64, 128, 256, 512, 1024, 1280, 1518))
    )
    chart = line_chart(Figure("f", "F", "x", "y", series))
    assert chart is not None and len(chart.legend) == 7
    assert len({entry.colour for entry in chart.legend}) == len({entry.shape for entry in chart.legend}) == 7
    assert all(a.dash != b.dash for a, b in zip(chart.legend, chart.legend[1:], strict=False))
    widths = chart.spec["layer"][0]["encoding"]["strokeWidth"]["scale"]["range"]
    assert widths == [4.6, 4.1, 3.6, 3.1, 2.6, 2.1, 1.6]
    assert chart.spec["layer"][1]["encoding"]["size"]["scale"]["range"] == [192, 166, 140, 114, 88, 62, 36]


def test_lines_that_coincide_are_one_with_the_names_of_all() -> None:
    rising, alike, low = ((10.0, 10.0), (100.0, 100.0)), ((10.0, 10.0), (100.0, 99.7)), ((10.0, 10.0), (100.0, 0.0))
    series = (Series("64 B", low), Series("512 B", rising), Series("1518 B", alike))
    chart = line_chart(Figure("f", "F", "x", "y", series))
    assert chart is not None and chart.numbers is not None
    assert [entry.name for entry in chart.legend] == ["64 B", "512, 1518 B"]
    assert [head.title for head in chart.numbers.heads] == ["x", "64 B", "512 B", "1518 B"] and chart.numbers.folded
    assert {(point["series"], point["at"], point["drawn"]) for point in chart.spec["data"]["values"]} == {
        *(("64 B", 0, True), ("512, 1518 B", 1, True), ("512, 1518 B", 2, False)),
    }, "each has its numbers, and one of a line is drawn"
    assert {item["title"] for item in chart.spec["layer"][2]["encoding"]["tooltip"]} >= {"512 B", "1518 B"}
    several = (Series("64 B, repeat 1, MIMO", rising), Series("64 B, repeat 2, MIMO", alike))
    chart = line_chart(Figure("f", "F", "x", "y", several))
    assert chart is not None and [entry.name for entry in chart.legend] == [
        "64 B, repeat 1, MIMO; 64 B, repeat 2, MIMO"
    ]


def test_more_lines_than_colours_are_a_choice_of_them_that_is_told() -> None:
    series = tuple(Series(f"{size} B", ((10.0, 10.0), (100.0, float(size)))) for size in range(1, 101))
    chart = line_chart(Figure("f", "F", "x", "y", (*series, Series("most", ((10.0, 10.0), (100.0, 100.0)), True))))
    assert chart is not None and chart.numbers is not None
    names = [entry.name for entry in chart.legend]
    assert len(names) == 12 and names[0] == "1 B" and names[-2:] == ["100 B", "most"]
    assert chart.note == "12 of 101 lines are drawn."
    assert len(chart.numbers.heads) == 102


def test_loads_that_end_far_below_line_rate_have_axes_that_end_with_them() -> None:
    whole = [[0.0, 100.0], [0.0, 100.0]]
    for most, ends in ((0.9, [[0.0, 0.9], [0.0, 0.7]]), (5.0, [[0.0, 5.0], [0.0, 0.7]]), (5.1, whole)):
        series = (Series("64 B", ((0.1, 0.0), (most, 0.7))),)
        chart = line_chart(Figure("f", "F", "load (%)", "loss (%)", series, x_max=100.0, y_max=100.0))
        assert chart is not None
        axes = (chart.spec["encoding"]["x"], chart.spec["layer"][0]["encoding"]["y"])
        assert [axis["scale"]["domain"] for axis in axes] == ends


def test_times_far_apart_have_a_logarithmic_axis() -> None:
    measured = Series("latency", ((10.0, 2.0), (100.0, 4000.0)))
    chart = line_chart(Figure("latency", "Latency against load", "load (%)", "latency (us)", (measured,)))
    assert chart is not None
    assert chart.spec["layer"][0]["encoding"]["y"]["scale"]["type"] == "log"


def test_rates_over_frame_sizes_are_bars_within_the_outline_of_their_theory() -> None:
    theory = Series("theoretical maximum", ((64.0, 1.0), (1518.0, 0.1)), theoretical=True)
    measured = Series("throughput", ((64.0, 0.5), (1518.0, 0.1)))
    chart = chart_of(Figure("rate", "Rate", "frame size (B)", "frames/s", (theory, measured)))
    assert chart is not None
    outline, bars = chart.spec["layer"]
    assert outline["mark"]["type"] == bars["mark"]["type"] == "bar"
    assert bars["encoding"]["xOffset"]["scale"]["domain"] == ["throughput"]
    assert [(bar["x"], bar["size"], bar["y"], bar["theory"]) for bar in chart.spec["data"]["values"]] == [
        (64, 64, 1, True),
        (1518, 1518, 0.1, True),
        (64, 64, 0.5, False),
        (1518, 1518, 0.1, False),
    ]
    assert bars["encoding"]["x"]["scale"]["paddingInner"] == 0.1
    assert bars["encoding"]["x"]["type"] == "ordinal" and bars["encoding"]["y"]["scale"]["domain"][0] == 0


def test_a_figure_that_would_be_empty_is_not_drawn_and_numbers_of_tables_stand_there_alone() -> None:
    nothing = Figure("loss", "Loss", "load (%)", "loss (%)", (Series("64 B", ((10.0, 0.0), (20.0, 0.0))),))
    rates = Figure("rates", "Rates", "load (%)", "rate (%)", (Series("64 B", ((10.0, 17.5),)),))
    table = Table("t", "T", (SIZE, RATE), ({"load_pct": 10.0, "rate_pct": 17.5},))
    chart, said = figures_of((nothing, rates), (table,))
    assert isinstance(chart, Chart) and chart.numbers is None and chart.note == "The numbers are in the tables below."
    assert said == Paragraph("Not drawn: Loss (0 everywhere).")
    (alone,) = figures_of((rates,), ())
    assert isinstance(alone, Chart) and alone.numbers is not None


def lines(figure: Figure) -> list[str]:
    chart = line_chart(figure)
    assert chart is not None
    return [entry.name for entry in chart.legend]


@pytest.mark.parametrize(
    ("title", "top", "values", "together"),
    [
        # Half a percent of the axis: of the largest value, of the given end, or of ln(10 / 1.2).
        ("rate (%)", None, (99.5, 100.0), True),
        ("rate (%)", None, (99.496, 100.0), False),
        ("rate (%)", 1000.0, (95.0, 100.0), True),
        ("rate (%)", 1000.0, (94.9, 100.0), False),
        ("latency (us)", None, (9.9, 10.0), True),
        ("latency (us)", None, (9.89, 10.0), False),
    ],
)
def test_lines_are_one_where_nobody_could_tell_them_apart(
    title: str, top: float | None, values: tuple[float, float], together: bool
) -> None:
    one, other = (Series(f"{name} B", ((10.0, 1.2), (90.0, y))) for name, y in zip("ab", values, strict=True))
    figure = Figure("f", "F", "load", title, (one, other), y_max=top)
    assert lines(figure) == (["a, b B"] if together else ["a B", "b B"])
    theory = replace(other, theoretical=True)
    assert len(lines(replace(figure, series=(one, theory)))) == 2
    elsewhere = replace(other, points=((10.0, 1.2), (80.0, values[0])))
    assert len(lines(replace(figure, series=(one, elsewhere)))) == 2


def test_lines_are_compared_with_the_first_of_those_that_are_one() -> None:
    series = tuple(Series(f"{y} B", ((10.0, y),)) for y in (100.0, 99.6, 99.2))
    assert lines(Figure("f", "F", "x", "y", series)) == ["100.0, 99.6 B", "99.2 B"]


def test_lines_of_several_units_keep_their_names() -> None:
    points = ((1.0, 1.0), (2.0, 2.0))
    assert lines(Figure("f", "F", "x", "y", (Series("64 B", points), Series("2 s", points)))) == ["64 B, 2 s"]


def test_theory_is_among_the_lines_that_are_drawn() -> None:
    """Two of theory leave ten of twelve for the measured ones."""
    series = tuple(Series(str(number), ((1.0, 0.0), (2.0, float(number))), number % 50 == 0) for number in range(101))
    names = lines(Figure("f", "F", "x", "y", series))
    assert len(names) == 12 and {"0", "50", "100", "1", "99"} <= set(names)
    # More of theory than can be drawn with others: two of these are.
    many = tuple(replace(item, theoretical=place < 90) for place, item in enumerate(series))
    assert lines(Figure("f", "F", "x", "y", many))[90:] == ["90", "100"]


@pytest.mark.parametrize(
    ("title", "values", "end", "scale", "text"),
    [
        ("x", [-2.0, 5.0], None, {"domain": [-2, 5], "nice": True}, ",.5~r"),
        ("x", [2.0, 5.0], 5.0, {"domain": [0, 5], "nice": False}, ",.5~r"),
        ("x", [2.0, 6.0], 5.0, {"domain": [0, 6], "nice": True}, ",.5~r"),
        ("x", [], None, {"domain": [0, 1], "nice": True}, ",.5~r"),
        ("x", [10_000.0], None, {"domain": [0, 10_000], "nice": True}, "~s"),
        ("x", [9999.0], None, {"domain": [0, 9999], "nice": True}, ",.5~r"),
        ("delay (us)", [1.0, 8.0], None, {"domain": [0, 8], "nice": True}, ",.5~r"),
        ("delay (us)", [0.0, 9.0], None, {"domain": [0, 9], "nice": True}, ",.5~r"),
        ("delay (us)", [1.2, 10.0], None, {"type": "log", "domain": [1, 12]}, ",.5~r"),
        ("delay (us)", [12.0, 10_000.0], None, {"type": "log", "domain": [10, 12_000]}, "~s"),
        ("delay (us)", [12.0, 9999.0], None, {"type": "log", "domain": [10, 11_998.8]}, ",.5~r"),
        ("delay (us)", [0.12, 1.0], None, {"type": "log", "domain": [0.1, 1.2]}, ",.5~r"),
        ("frames", [1.2, 10.0], None, {"domain": [0, 10], "nice": True}, ",.5~r"),
    ],
)
def test_axes_show_all_values(
    title: str, values: list[float], end: float | None, scale: dict[str, object], text: str
) -> None:
    """Times whose largest is more than eight times the smallest are logarithmic, with a sixth more at either end."""
    axis = axis_of("y", title, values, end)
    assert (axis["scale"], axis["axis"]["format"]) == (
        {key: pytest.approx(value) if key == "domain" else value for key, value in scale.items()},
        text,
    )
    assert axis["axis"].get("tickCount", 8) == 8
    assert "type" not in axis_of("x", title, values, end)["scale"], "loads and sizes are never logarithmic"


def test_the_numbers_beside_a_chart_are_all_of_its_points() -> None:
    series = (Series("64 B", ((1024.0, 0.5), (10.0, 1234.5))), Series("none", ()), Series("1518 B", ((10.0, 2.0),)))
    chart = line_chart(Figure("f", "F", "x", "y", series))
    assert chart is not None and chart.numbers is not None
    assert [row.cells for row in chart.numbers.rows] == [("10", "1,234.5", "2"), ("1,024", "0.5", "-")]
    sizes = chart_of(Figure("f", "F", "frame size (B)", "y", series, x_names=(PlaceName(1024.0, "IMIX"),)))
    assert sizes is not None and sizes.numbers is not None
    assert [row.cells[0] for row in sizes.numbers.rows] == ["10", "IMIX"]
    assert [bar["size"] for bar in sizes.spec["data"]["values"]] == ["IMIX", 10, 10]
    for points, told in ((400, True), (401, False)):
        long = Series("64 B", tuple((float(x), 1.0 + x) for x in range(points)))
        chart = line_chart(Figure("f", "F", "x", "y", (long,)))
        assert chart is not None and (chart.numbers is not None) is told


def test_times_far_apart_are_marks_over_frame_sizes() -> None:
    """A bar of a logarithmic axis has no begin."""
    for most, mark in ((100.0, "point"), (2.0, "bar")):
        figure = Figure("f", "F", "frame size (B)", "delay (us)", (Series("a", ((64.0, 1.0), (128.0, most))),))
        chart = chart_of(figure)
        assert chart is not None
        (only,) = chart.spec["layer"]
        assert only["mark"]["type"] == mark


def test_bars_have_the_names_of_their_places() -> None:
    measured = Series("a", ((64.0, 1.0), (353.8, 2.0)))
    figure = Figure("f", "F", "frame size (B)", "frames/s", (measured,), x_names=(PlaceName(353.8, "IMIX"),))
    chart = chart_of(figure)
    assert chart is not None and [bar["size"] for bar in chart.spec["data"]["values"]] == [64.0, "IMIX"]
    place = "indexof([353.8], datum.value)"
    label = chart.spec["layer"][0]["encoding"]["x"]["axis"]["labelExpr"]
    assert label == f'{place} < 0 ? datum.label : ["IMIX"][{place}]'


def test_a_figure_says_why_it_is_not_drawn() -> None:
    theory = Series("t", ((64.0, 1.0),), theoretical=True)
    (said,) = figures_of((Figure("f", "Rate", "x", "y", (theory, Series("a", ()))),), ())
    assert said == Paragraph("Not drawn: Rate (no trusted measurement).")


@pytest.mark.parametrize(("letters", "columns"), [(23, 4), (24, 2)])
def test_a_legend_of_long_names_has_fewer_columns(letters: int, columns: int) -> None:
    chart = line_chart(Figure("f", "F", "x", "y", (Series("a" * letters, ((1.0, 1.0), (2.0, 2.0))),)))
    assert chart is not None and chart.numbers is not None
    line, mark, pointer = (layer["encoding"] for layer in chart.spec["layer"])
    shown = {"title": None, "orient": "bottom", "columns": columns}
    channels = (line["color"], line["strokeDash"], mark["color"], mark["shape"])
    assert all(channel["legend"] == shown for channel in channels), "one legend of colour, dash and mark"
    # A scale of one number draws nothing in Vega.
    assert (line["strokeWidth"], mark["size"]) == ({"value": 1.6}, {"value": 36})
    assert chart.spec["layer"][2]["params"][0]["select"]["nearest"], "pointing beside a line tells its values"
    assert [(head.number, head.key) for head in chart.numbers.heads] == [(True, True), (True, False)]
    assert pointer["opacity"] == {"condition": {"param": "pointed", "empty": False, "value": 0.9}, "value": 0}
    assert [layer["mark"] for layer in chart.spec["layer"]] == [
        {"type": "line", "strokeCap": "butt"},
        {"type": "point", "filled": False, "strokeWidth": 1.4, "opacity": 1},
        {"type": "rule", "strokeWidth": 1.2, "color": "#8a8f98"},
    ]
    two = line_chart(Figure("f", "F", "x", "y", (Series("a", ((1.0, 1.0),)), Series("b", ((1.0, 2.0),)))))
    assert two is not None and two.spec["layer"][0]["encoding"]["strokeWidth"]["scale"]["range"] == [2.1, 1.6]
