"""The command `emulator graph`."""

from __future__ import annotations

from collections.abc import Mapping

import click

from emulator.cli import sessions
from emulator.cli.exits import DONE
from emulator.cli.options import common, on_spark
from emulator.cli.printing import PROGRAM
from emulator.cli.sessions import refuse_missing_folder, refuse_other_contents
from emulator.errors import InputError
from emulator.storage.written_file import refuse_unwritable


@click.command("graph")
@click.argument("cluster", metavar="CLUSTER_OR_RESULT")
@click.option(
    "--out", metavar="DIR", required=True, help="Folder (any Hadoop URI) for the tables, a run's own too; an earlier graph goes."
)
@click.option(
    "--failures",
    metavar="N",
    type=click.IntRange(min=1),
    default=15,
    show_default=True,
    help="Up to so many brokers fail at once.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of chances that are drawn.")
@click.option("--picture", metavar="FILE", help="Draw the failure domains as well (.svg: of the first scenario, .html: of all).")
@click.option(
    "--backend",
    type=click.Choice(["driver", "graphframes"]),
    default="driver",
    show_default=True,
    help="What works out components, communities, in-degrees and motifs. The answers are the same.",
)
@on_spark
@common
def graph_command(
    cluster: str,
    out: str,
    failures: int,
    seed: int,
    picture: str | None,
    backend: str,
    master: str | None,
    conf: Mapping[str, str],
) -> int:
    """Write a cluster as a graph, and which brokers must not fail together: copysets, blast radius, islands, hot spots.

    CLUSTER_OR_RESULT is a scenario file, the DIR of emulator import kafka, or that of emulator run, which adds what happened.
    """
    if not out.strip():
        raise InputError("--out: no folder is given; allowed: a local path or a Hadoop URI")
    refuse_other_contents(out)
    from emulator.graphs.backends.in_driver import InDriver
    from emulator.graphs.backends.in_graphframes import InGraphFrames
    from emulator.graphs.build import write_graph
    from emulator.graphs.picture import refuse_other_formats, write_picture
    from emulator.graphs.sources import read_cluster, read_result
    from emulator.outcomes.sql import own_session

    if picture is not None:
        refuse_unwritable("--picture", picture)
        refuse_other_formats(picture)
    source = read_cluster(cluster)
    if source is None:
        refuse_missing_folder(cluster, master, conf)
    with sessions.session(master, conf, f"{PROGRAM} graph") as spark:
        own = own_session(spark)
        graphs = InGraphFrames(own) if backend == "graphframes" else InDriver()
        found = source or read_result(cluster, own)
        write_graph(found, out, own, graphs, failures, seed, lambda line: click.echo(line, err=True))
    if picture is not None:
        write_picture(found.clusters, [each.name for each in found.scenarios], picture)
    click.echo(f"ask it: {PROGRAM} sql {out} @which_brokers_must_not_fail_together", err=True)
    return DONE
