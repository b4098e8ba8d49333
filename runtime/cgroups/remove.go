package cgroups

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"syscall"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
)

const (
	killFile = "cgroup.kill"
	// maxDepth bounds how deep the cgroups in a pod may be nested for a removal.
	maxDepth = 64
	// maxBusyPIDs bounds the processes that a BusyError lists.
	maxBusyPIDs = 8
)

// BusyError is the error of Remove if processes are left in the cgroup of a pod. It wraps ErrBusy.
type BusyError struct {
	Path string // a directory that the kernel did not remove
	PIDs []int  // processes in it, at most 8
}

// Error implements error.
func (e *BusyError) Error() string {
	return fmt.Sprintf("%v: %s has the processes %v", ErrBusy, e.Path, e.PIDs)
}

// Unwrap returns ErrBusy.
func (e *BusyError) Unwrap() error { return ErrBusy }

// Remove kills the processes that are left in the cgroup of a pod, and removes the cgroup with all cgroups in it from
// every hierarchy. It kills by the file cgroup.kill, and where a hierarchy has no such file by Config.Files, if Files is
// a ProcessKiller. It is called after the containers of the pod have stopped, and may be called again. A nil error means that no hierarchy has the cgroup, also if there was none. While a
// cgroup is in use Remove waits and tries again, RemoveAttempts times at most, and then returns a *BusyError. It never
// removes anything outside the cgroup of this pod in the root of this agent. On a host that is not Ready it does
// nothing.
func (m *Manager) Remove(ctx context.Context, uid types.UID) error {
	if err := podspec.CheckUID(uid); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidName, err)
	}
	if m.config.Capabilities.State != Ready {
		return nil
	}
	defer m.pods.Lock(uid)()
	m.forgetEnsured(uid)
	delay := m.config.RemoveDelay
	for attempt := 1; ; attempt++ {
		err := m.killAndRemoveDirsOnce(uid)
		if err == nil || !errors.Is(err, ErrBusy) || attempt >= m.config.RemoveAttempts {
			return err
		}
		if sleepErr := m.executor.Sleep(ctx, delay); sleepErr != nil {
			return errors.Join(err, sleepErr)
		}
		delay *= 2
	}
}

// killAndRemoveDirsOnce removes the directories of a pod once, in every hierarchy and for every QoS class. If
// the kernel has the file cgroup.kill, it first kills the processes of the pod in the unified hierarchy. In the other
// hierarchies removeTree kills those that prevent a removal.
func (m *Manager) killAndRemoveDirsOnce(uid types.UID) error {
	var faults []error
	for _, dir := range m.podDirs(uid) {
		unified := m.config.Capabilities.Unified
		if unified != "" && m.config.Capabilities.KillFile {
			// Without the directory there is nothing to kill. The kernel also refuses the write in a threaded cgroup; its
			// processes then show up as busy.
			_ = m.config.Files.WriteFile(path.Join(unified, dir, killFile), []byte("1"))
		}
		for _, mount := range m.config.Capabilities.allMounts() {
			killer := m.killer
			if mount == unified && m.config.Capabilities.KillFile {
				killer = nil
			}
			if err := m.removeTree(path.Join(mount, dir), killer, 0); err != nil {
				faults = append(faults, err)
			}
		}
	}
	return errors.Join(faults...)
}

// podDirs returns the directories that the cgroup of a pod may have, one for each QoS class. A static pod may have
// changed its class.
func (m *Manager) podDirs(uid types.UID) []string {
	dirs := make([]string, len(qosClasses))
	for i, class := range qosClasses {
		dirs[i] = path.Join(m.config.Root.classDir(class), podPrefix+string(uid))
	}
	return dirs
}

// removeTree removes a cgroup after the cgroups in it. A missing cgroup is no error. If killer is not nil, removeTree
// kills the processes in each cgroup that it cannot remove, so that the next attempt can.
func (m *Manager) removeTree(dir string, killer ProcessKiller, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("cgroups: cannot remove %s: more than %d levels of cgroups", dir, maxDepth)
	}
	names, err := m.config.Files.ReadDir(dir)
	if err != nil {
		if isGone(err) {
			return nil
		}
		return err
	}
	var faults []error
	for _, name := range names {
		if err := m.removeTree(path.Join(dir, name), killer, depth+1); err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) == 0 {
		if err = m.removeDir(dir); err == nil {
			return nil
		}
		faults = append(faults, err)
	}
	if killer != nil {
		faults = append(faults, killer.KillProcesses(dir))
	}
	return errors.Join(faults...)
}

// removeDir removes one cgroup without cgroups in it. A missing cgroup is no error. The error is a *BusyError if the
// cgroup is in use.
func (m *Manager) removeDir(dir string) error {
	err := m.config.Files.Remove(dir)
	switch {
	case err == nil || isGone(err):
		return nil
	case errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.ENOTEMPTY):
		return &BusyError{dir, m.readProcesses(dir)}
	}
	return err
}

// readProcesses returns the first processes in a cgroup, at most maxBusyPIDs. It returns nil if they cannot be
// read, because they are for the text of an error only.
func (m *Manager) readProcesses(dir string) []int {
	text, err := m.config.Files.ReadFile(path.Join(dir, processesFile))
	if err != nil {
		return nil // They are for the text of an error only.
	}
	pids := parsePIDs(text)
	return pids[:min(len(pids), maxBusyPIDs)]
}

// List returns the UIDs of all pods that have a cgroup in the root of this agent, in any hierarchy, in order. The
// caller removes those that it does not want; it lists them before it reads which pods it wants. Directories of other
// names are left out. On a host that is not Ready the list is empty.
func (m *Manager) List() ([]types.UID, error) {
	if m.config.Capabilities.State != Ready {
		return nil, nil
	}
	var uids []types.UID
	for _, mount := range m.config.Capabilities.allMounts() {
		for _, class := range qosClasses {
			names, err := m.config.Files.ReadDir(path.Join(mount, m.config.Root.classDir(class)))
			if err != nil && !isGone(err) {
				return nil, fmt.Errorf("cannot list the cgroups of pods: %w", err)
			}
			for _, name := range names {
				if uid, ok := parsePodName(name); ok {
					uids = append(uids, uid)
				}
			}
		}
	}
	slices.Sort(uids)
	return slices.Compact(uids), nil
}

// RemoveRoot removes the cgroups that contained the pods of this agent, for an agent that leaves the host. It removes
// no cgroup of a pod. While a pod has a cgroup, the error wraps ErrBusy. On a host that is not Ready it does nothing.
func (m *Manager) RemoveRoot() error {
	if m.config.Capabilities.State != Ready {
		return nil
	}
	var faults []error
	for _, mount := range m.config.Capabilities.allMounts() {
		for _, class := range [...]v1.PodQOSClass{v1.PodQOSBurstable, v1.PodQOSBestEffort, v1.PodQOSGuaranteed} {
			if err := m.removeDir(path.Join(mount, m.config.Root.classDir(class))); err != nil {
				faults = append(faults, err)
			}
		}
	}
	return errors.Join(faults...)
}
