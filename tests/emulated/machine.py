"""A PC with AVX-512 and VNNI, emulated by Bochs, that runs commands under Linux and ends.

    machine = Machine(folder, programs, files, absent)      what the guest's file system holds
    machine.start(commands)
    for result in machine.results(limit_s): ...

The guest is Debian's kernel for clouds with a file system in memory: busybox, and the programs that
are given with their shared libraries. It boots from a CD, says what it has to say through a serial
port that is a file here, and has no network. The emulator has one thread and runs some 30 million
instructions a second, a hundred times fewer than the processor it runs on; a boot is 1200 million.
"""

import dataclasses
import os
import pathlib
import re
import subprocess
import time

# Bochs shows the screen on a port of every address: in a network of its own nobody can reach it.
ISOLATED = ("unshare", "--net") if os.geteuid() == 0 else ("unshare", "--map-root-user", "--net")
MEMORY_MB = 1024
# What the guest takes for a second. More make timer interrupts rarer, fewer the waits shorter.
INSTRUCTIONS_PER_S = 50_000_000
INIT = pathlib.Path(__file__).with_name("init.sh")
BUSYBOX = pathlib.Path("/bin/busybox")
GRUB_MODULES = ("biosdisk", "iso9660", "linux", "configfile", "normal")
# Of what Bochs says its processor has, Linux cannot use: PKU and XSAVEC, whose parts of the saved state
# have wrong sizes, and FSRM without the fast strings that go with it. The processor's idea of its own
# frequency would make delays fifty times too long. Without ACPI and security modules it boots sooner.
KERNEL_ARGUMENTS = ("console=ttyS0,115200 quiet clearcpuid=fsrm,pku,xsaves,xsavec nokaslr acpi=off "
                    "mitigations=off lsm= audit=0 nowatchdog random.trust_cpu=on panic=-1 "
                    f"tsc_early_khz={INSTRUCTIONS_PER_S // 1000} rdinit=/init")
BEGIN, END, DONE = "@begin ", "@end ", "@done"


class MachineError(Exception):
    """It did not boot, or not reach its end."""


@dataclasses.dataclass
class Result:
    name: str
    code: int
    output: str


def kernel():
    """The newest one that is installed."""
    found = list(pathlib.Path("/boot").glob("vmlinuz-*-cloud-amd64"))
    if not found:
        raise MachineError("there is no /boot/vmlinuz-*-cloud-amd64")
    return max(found, key=lambda path: [int(n) for n in re.findall(r"\d+", path.name)])


def libraries(program, preferred=""):
    """Paths of the shared libraries that a program is linked to, the loader included; from the folder
    `preferred` where it has them."""
    text = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True,
                          env=os.environ | {"LD_LIBRARY_PATH": str(preferred)}).stdout
    if "not found" in text:
        raise MachineError(f"{program}: {text}")
    return re.findall(r"(?:=> |^\t)(/\S+) \(", text, re.M)


def _undefined(path):
    return subprocess.run(["nm", "-D", "--undefined-only", str(path)], capture_output=True,
                          text=True, check=True).stdout


def make_empty_libraries(folder, programs, absent):
    """What stands in place of libraries that programs are linked to and never call: of each name
    prefix of `absent`, {start of the library's name: prefix}, a function that does nothing."""
    folder.mkdir()
    needed = {library for program in programs for library in libraries(program)}
    for start, prefix in absent.items():
        users = {*programs, *(p for p in needed if not pathlib.Path(p).name.startswith(start))}
        names = {name for user in users for name in re.findall(rf" ({prefix}\w+)", _undefined(user))}
        source = folder / "empty.c"
        source.write_text("".join(f"int {name}(void) {{ return 1; }}\n" for name in sorted(names)))
        for library in {pathlib.Path(p).name for p in needed if f"/{start}" in p}:
            subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / library,
                            f"-Wl,-soname,{library}", source], check=True)


def _entry(name, mode, data=b"", device=(0, 0)):
    """One of a cpio archive of the kind newc, see the kernel's buffer-format.txt."""
    fields = (0, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)


def archive(files):
    """The file system of {path: content}, all of it executable."""
    folders = {str(parent) for path in files for parent in pathlib.PurePath(path).parents}
    folders |= {"dev", "proc", "sys", "tmp"}
    parts = [_entry(folder, 0o040755) for folder in sorted(folders - {"."}, key=len)]
    parts.append(_entry("dev/console", 0o020600, device=(5, 1)))
    parts += [_entry(path, 0o100755, content) for path, content in files.items()]
    parts.append(_entry("TRAILER!!!", 0))
    return b"".join(parts)


class Machine:
    """One emulator; `folder` is for its files."""

    def __init__(self, folder, programs, files, absent):
        """`programs`, {name in /bin: path here}, come with what they are linked to; `files` are
        {path: content}; `absent` is as in make_empty_libraries()."""
        self.kernel = kernel().read_bytes()
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.files = {"init": INIT.read_bytes(), "bin/busybox": BUSYBOX.read_bytes(), **files}
        empty = self.folder / "empty"
        make_empty_libraries(empty, programs.values(), absent)
        for name, path in programs.items():
            stripped = self.folder / "stripped"
            subprocess.run(["strip", "-o", stripped, path], check=True)
            self.files[f"bin/{name}"] = stripped.read_bytes()
            for library in map(pathlib.Path, libraries(path, empty)):
                place = f"lib/{library.name}" if library.parent == empty else str(library)[1:]
                self.files[place] = library.read_bytes()
        self.process = None

    def start(self, commands):
        """Of (name, command) pairs; a command is a line of shell."""
        plan = "".join(f"{name}\t{command}\n" for name, command in commands)
        self._write_image(self.files | {"plan": plan.encode()})
        serial = self.folder / "serial.txt"
        serial.write_bytes(b"")
        settings = self.folder / "bochsrc"
        settings.write_text(self._settings(serial))
        debugger = self.folder / "debugger"
        debugger.write_text("continue\n")
        with open(self.folder / "bochs.txt", "wb") as log:
            self.process = subprocess.Popen(
                [*ISOLATED, "bochs", "-q", "-f", settings, "-rc", debugger],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder)

    def _write_image(self, files):
        cd = self.folder / "cd"
        cd.mkdir(exist_ok=True)
        (cd / "kernel").write_bytes(self.kernel)
        # Of what the kernel can unpack, the quickest.
        packed = subprocess.run(["lz4", "-l", "-9", "-c"], input=archive(files), check=True,
                                stdout=subprocess.PIPE).stdout
        (cd / "files").write_bytes(packed)
        script = self.folder / "grub.cfg"
        script.write_text(f"linux /kernel {KERNEL_ARGUMENTS}\ninitrd /files\nboot\n")
        subprocess.run(["grub-mkimage", "-O", "i386-pc-eltorito", "-p", "/", "-c", script, "-o",
                        cd / "loader", *GRUB_MODULES], check=True)
        subprocess.run(["xorriso", "-as", "mkisofs", "-quiet", "-b", "loader", "-no-emul-boot",
                        "-boot-load-size", "4", "-boot-info-table", "-o", self.folder / "cd.iso",
                        cd], check=True, capture_output=True)

    def _settings(self, serial):
        return "\n".join((
            "config_interface: textconfig",
            'display_library: rfb, options="timeout=0"',
            "romimage: file=/usr/share/bochs/BIOS-bochs-latest",
            "vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest",
            f"cpu: model=tigerlake, count=1, ips={INSTRUCTIONS_PER_S}, reset_on_triple_fault=0, "
            "ignore_bad_msrs=1",
            f"memory: guest={MEMORY_MB}, host={MEMORY_MB}",
            "clock: sync=none",
            f"ata0-master: type=cdrom, path={self.folder / 'cd.iso'}, status=inserted",
            "boot: cdrom",
            # What the guest has no use for; among it is what needs devices of the host.
            "plugin_ctrl: usb_uhci=0, gameport=0, parallel=0, extfpuirq=0, speaker=0",
            "sound: waveoutdrv=dummy, waveindrv=dummy, midioutdrv=dummy",
            f"com1: enabled=1, mode=file, dev={serial}",
            f"log: {self.folder / 'log.txt'}",
            "panic: action=fatal",
            "error: action=report",
            "info: action=report",
            "debug: action=ignore",
            ""))

    def results(self, limit_s):
        """Of each command, as it ends. MachineError where the machine ends before its last one, or
        has not ended after so many seconds."""
        deadline = time.monotonic() + limit_s
        seen = 0
        try:
            while True:
                is_running = self.process.poll() is None
                lines = self._serial().split("\n")[:-1]
                while (found := _next(lines, seen)) is not None:
                    result, seen = found
                    yield result
                if DONE in lines[seen:]:
                    return
                if not is_running:
                    raise MachineError(f"the emulator ended with {self.process.returncode}")
                if time.monotonic() > deadline:
                    raise MachineError(f"not at the end after {limit_s} s")
                time.sleep(0.2)
        finally:
            self.stop()

    def _serial(self):
        text = (self.folder / "serial.txt").read_text(encoding="utf-8", errors="replace")
        return text.replace("\r", "")

    def stop(self):
        """The emulator has nothing to save."""
        self.process.kill()
        self.process.wait()

    def messages(self):
        """The end of what the machine and the emulator said."""
        emulator = (self.folder / "bochs.txt").read_text(errors="replace")
        return self._serial()[-3000:] + emulator[-2000:]


def _next(lines, start):
    """(result, line behind it) of the next whole command in what the guest said."""
    begin = next((i for i in range(start, len(lines)) if lines[i].startswith(BEGIN)), None)
    if begin is None:
        return None
    end = next((i for i in range(begin, len(lines)) if lines[i].startswith(END)), None)
    if end is None:
        return None
    return Result(lines[begin][len(BEGIN):], int(lines[end][len(END):]),
                  "\n".join(lines[begin + 1:end])), end + 1
