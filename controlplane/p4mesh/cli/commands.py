"""Function of every command. It checks what needs little, then loads what the command needs: start-up stays fast."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from p4mesh.cli.notice import Notice


def run(arguments: argparse.Namespace, notice: Notice) -> int:
    """Run a test, a suite or a run file."""
    from p4mesh.cli.run_command import execute

    return execute(arguments, notice)


def traffic(arguments: argparse.Namespace, notice: Notice) -> int:
    """Send the traffic of a file."""
    from p4mesh.cli import early_checks

    options = early_checks.traffic(arguments)
    from p4mesh.cli.traffic_command import execute

    return execute(options, arguments, notice)


def calibrate(arguments: argparse.Namespace, _: Notice) -> int:
    """Measure the wires of a topology."""
    from p4mesh.cli import early_checks

    options = early_checks.calibrated(arguments)
    from p4mesh.cli.calibrate_command import measure_wires

    return measure_wires(options, arguments.json)


def tests(arguments: argparse.Namespace, _: Notice) -> int:
    """List the tests, or show one."""
    from p4mesh.cli import early_checks

    early_checks.named_test(arguments)
    from p4mesh.cli.listing_command import execute

    return execute(arguments)


def show(arguments: argparse.Namespace, _: Notice) -> int:
    """Print the tables of a run."""
    from p4mesh.cli import early_checks

    early_checks.stored_run(arguments)
    from p4mesh.cli.show_command import execute

    return execute(arguments)


def compare(arguments: argparse.Namespace, _: Notice) -> int:
    """Compare runs of one test."""
    from p4mesh.cli import early_checks

    early_checks.stored_runs(arguments)
    from p4mesh.cli.compare_command import execute

    return execute(arguments)


def export(arguments: argparse.Namespace, _: Notice) -> int:
    """Write results for other programs."""
    from p4mesh.cli import early_checks

    early_checks.stored_run(arguments)
    from p4mesh.cli.export_command import execute

    return execute(arguments)


def report(arguments: argparse.Namespace, _: Notice) -> int:
    """Write a report as a page and as PDF."""
    from p4mesh.cli import early_checks

    early_checks.stored_run(arguments)
    from p4mesh.cli.report_command import execute

    return execute(arguments)


def serve(arguments: argparse.Namespace, _: Notice) -> int:
    """Show runs in a browser."""
    from p4mesh.cli import early_checks

    early_checks.served_folder(arguments)
    from p4mesh.server.command import execute

    return execute(arguments)


def otg(arguments: argparse.Namespace, _: Notice) -> int:
    """Serve the Open Traffic Generator API."""
    from p4mesh.cli import early_checks

    early_checks.otg(arguments)
    from p4mesh.otg.command import execute

    return execute(arguments)


def topology_check(arguments: argparse.Namespace, _: Notice) -> int:
    """Validate a topology."""
    from p4mesh.cli.topology_command import check

    return check(arguments)


def topology_draw(arguments: argparse.Namespace, _: Notice) -> int:
    """Draw a topology."""
    from p4mesh.cli.topology_command import draw

    return draw(arguments)


def init(arguments: argparse.Namespace, _: Notice) -> int:
    """Write a run file with comments."""
    from p4mesh.cli import early_checks

    early_checks.new_run_file(arguments)
    from p4mesh.cli.init_command import execute

    return execute(arguments)


def import_xena(arguments: argparse.Namespace, _: Notice) -> int:
    """Make a run file of a file of Xena."""
    from p4mesh.cli import early_checks

    early_checks.xena_file(arguments)
    from p4mesh.cli.import_xena_command import execute

    return execute(arguments)


def clab(arguments: argparse.Namespace, _: Notice) -> int:
    """Make the files of a container lab."""
    from p4mesh.cli import early_checks

    early_checks.lab_file(arguments)
    from p4mesh.cli.clab_command import execute

    return execute(arguments)


def runs(arguments: argparse.Namespace, _: Notice) -> int:
    """List past runs."""
    from p4mesh.cli import early_checks

    early_checks.folder_of_runs(arguments)
    from p4mesh.cli.runs_command import execute

    return execute(arguments)


def completion(arguments: argparse.Namespace, _: Notice) -> int:
    """Print the completion of a shell."""
    from p4mesh.cli.completion_command import execute

    return execute(arguments)


def doctor(arguments: argparse.Namespace, _: Notice) -> int:
    """Say what works on this machine."""
    from p4mesh.cli.doctor_command import execute

    return execute(arguments)


def net_up(arguments: argparse.Namespace, _: Notice) -> int:
    """Build a network."""
    from p4mesh.cli import early_checks

    early_checks.network(arguments)
    from p4mesh.cli.net_command import up

    return up(arguments)


def net_down(arguments: argparse.Namespace, _: Notice) -> int:
    """Remove a network."""
    from p4mesh.cli import early_checks

    early_checks.network(arguments)
    from p4mesh.cli.net_command import down

    return down(arguments)


def net_status(arguments: argparse.Namespace, _: Notice) -> int:
    """Show the networks that are up."""
    from p4mesh.cli.net_command import status

    return status(arguments)


def net_clean(arguments: argparse.Namespace, _: Notice) -> int:
    """Remove what killed commands have left."""
    from p4mesh.cli.net_command import clean

    return clean(arguments)
