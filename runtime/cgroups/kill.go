package cgroups

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strconv"

	"github.com/podkeel/podkeel/internal/osfile"
)

const (
	processesFile = "cgroup.procs"
	// maxKillRounds bounds how often the processes of one cgroup are read and killed before its removal is tried again.
	// A process may fork while the others are killed.
	maxKillRounds = 5
	// maxOpenProcesses bounds how many processes are open at once.
	maxOpenProcesses = 64
)

// ProcessKiller is an optional part of Files. HostFiles has it. With it Remove kills the processes that are left in the
// cgroup of a pod in hierarchies without the file cgroup.kill, for example on cgroup v1.
type ProcessKiller interface {
	// KillProcesses sends SIGKILL to the processes in one cgroup, without the processes of the cgroups in it. Remove calls it
	// with a directory of the cgroup of a pod that the kernel did not remove, and may call it again. It may be called
	// concurrently for different directories. A nil error means that each process that the cgroup had has got the
	// signal. Processes that they have forked meanwhile may be left. A missing cgroup is no error.
	KillProcesses(dir string) error
}

// KillProcesses sends SIGKILL to the processes in one cgroup, and repeats that while the cgroup has other processes. It
// follows no symbolic link. It kills neither the calling process nor process 1. A process ID that another process gets
// meanwhile does no harm: the process is opened first, and is killed only if the cgroup still has its ID afterwards.
// Kernels before Linux 5.4 cannot open processes, so there the ID alone counts.
func (h HostFiles) KillProcesses(dir string) error {
	err := killMembers(func() ([]int, error) { return h.readMembers(dir) }, openProcess)
	if isGone(err) {
		return nil
	}
	return replacePathInError(path.Join(dir, processesFile), err)
}

// readMembers returns the IDs of the processes in one cgroup, without those in its child cgroups. It follows no
// symbolic link.
func (h HostFiles) readMembers(dir string) (pids []int, err error) {
	err = h.openParent(path.Join(dir, processesFile), func(parent *os.Root, base string) error {
		f, err := osfile.OpenFile(parent, base, os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, maxFileBytes))
		if len(text) == maxFileBytes { // The last ID may be cut, and would be the one of a foreign process.
			text = text[:bytes.LastIndexByte(text, '\n')+1]
		}
		pids = parsePIDs(text)
		return err
	})
	return pids, err
}

// parsePIDs returns the process IDs in the text of a file cgroup.procs. It leaves out anything else, also the ID 0, which
// stands for a process that the reader cannot see.
func parsePIDs(text []byte) (pids []int) {
	for field := range bytes.FieldsSeq(text) {
		if pid, err := strconv.Atoi(string(field)); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// process is an open process. Where the kernel can open processes, Signal never reaches another process that has got the
// same ID.
type process interface {
	Signal(os.Signal) error
	Release() error
}

// openProcess opens a process of the host. A process that has exited may be opened; Signal returns os.ErrProcessDone
// for it.
func openProcess(pid int) (process, error) { return os.FindProcess(pid) }

// killMembers kills the members of a cgroup in rounds, until read returns no other members. It returns the errors of the
// last round if there are others after it.
func killMembers(read func() ([]int, error), open func(pid int) (process, error)) error {
	killed := map[int]bool{1: true, os.Getpid(): true} // These two are never killed.
	var faults []error
	for range maxKillRounds {
		pids, err := read()
		if err != nil {
			return err
		}
		pids = slices.DeleteFunc(pids, func(pid int) bool { return killed[pid] })
		if len(pids) == 0 {
			return nil
		}
		faults = nil
		for batch := range slices.Chunk(pids, maxOpenProcesses) {
			faults = append(faults, killBatch(batch, killed, read, open))
		}
	}
	return errors.Join(faults...)
}

// killBatch opens processes, reads the members of the cgroup again, and kills the processes that are still members. It
// adds the killed ones to killed.
func killBatch(pids []int, killed map[int]bool, read func() ([]int, error), open func(pid int) (process, error)) error {
	opened := make(map[int]process, len(pids))
	defer func() {
		for _, pid := range pids {
			if p := opened[pid]; p != nil {
				_ = p.Release() // It returns an error only for a process that is released already.
			}
		}
	}()
	var faults []error
	for _, pid := range pids {
		p, err := open(pid)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		opened[pid] = p
	}
	members, err := read()
	if err != nil {
		return errors.Join(append(faults, err)...)
	}
	for _, pid := range members {
		p := opened[pid]
		if p == nil {
			continue
		}
		switch err := p.Signal(os.Kill); {
		case err == nil:
			killed[pid] = true
		case !errors.Is(err, os.ErrProcessDone):
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}
