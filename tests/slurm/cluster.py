# SPDX-License-Identifier: MIT
"""The smallest Slurm: real daemons of one controller and three nodes on this machine, everything under one folder. Two nodes have the
feature "first", one has "second"; each has a GPU that is /dev/null. There are no cgroups and no accounting.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

NODES = {"node1": "first", "node2": "first", "node3": "second"}
DAEMONS = ("munged", "slurmctld", "slurmd")
SECONDS = 60
CONF = """\
ClusterName=lapilli-test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CryptoType=crypto/munge
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd-%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,sched_min_interval=100000,batch_sched_delay=0,bf_interval=1
GresTypes=gpu
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
KillWait=2
MinJobAge=86400
MaxArraySize=101
JobCompType=jobcomp/none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
PartitionName=farm Nodes=node[1-3] Default=YES MaxTime=INFINITE State=UP
"""


class Broken(Exception):
    """The daemons do not do what they should."""


def free_ports(count: int) -> list[int]:
    """Of sockets that are open all at once, so that each is another one."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def until(what: str, holds, seconds: float = SECONDS):
    end = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > end:
            raise Broken(f"never: {what}")
        time.sleep(0.05)
    return found


class Cluster:
    def __init__(self, folder: Path) -> None:
        self.folder, self.processes = folder, {}
        self.conf = folder / "slurm.conf"
        self.env = {**os.environ, "SLURM_CONF": str(self.conf)}

    def __enter__(self) -> Cluster:
        for name in ("state", "run", "log", "munge", *(f"spool/{node}" for node in NODES)):
            (self.folder / name).mkdir(parents=True)
        key = self.folder / "munge/key"
        key.write_bytes(os.urandom(64))
        key.chmod(0o400)
        host, ports = socket.gethostname().split(".")[0], free_ports(2 + len(NODES))
        nodes = "".join(f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=2000 Gres=gpu:{feature}:1 Feature={feature}\n"
                        for (node, feature), port in zip(NODES.items(), ports[2:]))
        self.conf.write_text(CONF.format(host=host, folder=self.folder, ports=ports).replace("PartitionName", nodes + "PartitionName"))
        (self.folder / "gres.conf").write_text("".join(f"NodeName={node} Name=gpu Type={feature} File=/dev/null\n" for node, feature in NODES.items()))
        (self.folder / "cgroup.conf").write_text("CgroupAutomount=no\n")
        try:
            munge = self.folder / "munge"
            self.start("munged", "--foreground", f"--key-file={key}", f"--socket={munge}/socket", f"--pid-file={munge}/pid", f"--log-file={munge}/log",
                       f"--seed-file={munge}/seed", "--force", "--num-threads=2")
            until("munged listens", (munge / "socket").exists)
            self.start_controller("-c")
            for node in NODES:
                self.start_node(node)
            until("all nodes are idle", lambda: self.states() == {node: "idle" for node in NODES})
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, kind: object = None, *_: object) -> None:
        """Ends all that has the name of this configuration in its environment: daemons, steps, workers and replays."""
        for command in (["squeue", "-r"], ["sinfo", "-N", "-o", "%N %T %E"]) if kind else ():
            with contextlib.suppress(Broken):
                print(self.ask(*command), flush=True)
        if kind:
            print("\n".join(f"{process} {line}" for process, line in self.mine().items()), flush=True)
        deadline = time.monotonic() + 10
        while (mine := self.mine()) and time.monotonic() < deadline:
            for process in mine:
                self.kill(process)
            for process in self.processes.values():
                process.poll()
            time.sleep(0.02)

    def mine(self) -> dict[int, str]:
        """Processes of this Slurm, but for this one's own: their command lines."""
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if f"SLURM_CONF={self.conf}".encode() in (path / "environ").read_bytes().split(b"\0") and int(path.name) != os.getpid():
                    found[int(path.name)] = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
        return found

    @staticmethod
    def kill(process: int) -> None:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def start(self, name: str, *arguments: str, key: str = "") -> None:
        program = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
        with (self.folder / "log" / f"{key or name}.out").open("ab") as out:
            self.processes[key or name] = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", program, *arguments], env=self.env, stdin=subprocess.DEVNULL,
                                                           stdout=out, stderr=out, start_new_session=True)

    def start_controller(self, *arguments: str) -> None:
        self.start("slurmctld", "-D", "-f", str(self.conf), *arguments)

    def start_node(self, node: str) -> None:
        self.start("slurmd", "-D", "-N", node, "-f", str(self.conf), key=node)

    def stop(self, key: str) -> None:
        self.processes[key].kill()
        self.processes[key].wait()

    def ask(self, *command: str) -> str:
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Broken(f"{' '.join(command)}: {done.stderr}")
        return done.stdout

    def states(self) -> dict[str, str]:
        try:
            return dict(line.split() for line in self.ask("sinfo", "-h", "-N", "-o", "%N %T").splitlines())
        except Broken:
            return {}

    def resume(self) -> bool:
        """What a person does with nodes that are drained or down, and with what a node that drains is said to play; always true."""
        for node, state in self.states().items():
            for element, where in self.jobs() if state == "draining" else ():
                if where == node:
                    subprocess.run(["scancel", element], env=self.env, capture_output=True, check=False)
            if re.match("down|drained", state):
                subprocess.run(["scontrol", "update", f"nodename={node}", "state=resume"], env=self.env, capture_output=True, check=False)
        return True

    def jobs(self, states: str = "R") -> list[tuple[str, str]]:
        """Elements as scancel takes them, and their nodes."""
        return [(line.split()[0], line.partition(" ")[2]) for line in self.ask("squeue", "-h", "-r", "-t", states, "-o", "%i %N").splitlines()]

    def lose(self, node: str) -> None:
        """Its daemon, its steps and what they run, at once, as a machine without power does; the controller is told."""
        self.stop(node)
        mine = self.mine()
        steps = {process for process, line in mine.items() if line.startswith("slurmstepd") and self._node_of(process) == node}
        for process in steps | {process for process in mine if self._node_of(process) == node and "slurm" not in mine[process].split()[0]}:
            self.kill(process)
        self.ask("scontrol", "update", f"nodename={node}", "state=down", "reason=test")

    @staticmethod
    def _node_of(process: int) -> str:
        try:
            found = re.search(rb"(?:^|\0)SLURMD_NODENAME=([^\0]*)", Path(f"/proc/{process}/environ").read_bytes())
        except OSError:
            return ""
        return found.group(1).decode() if found else ""
