package logfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

// NextAttempt is the number after the highest of which a container has a log;
// zero if it has none.
func (d *Dir) NextAttempt(pod runtime.PodRef, container string) (next uint32, err error) {
	dir, err := d.open(directory(pod), container)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("logfiles: %w", err)
	}
	defer dir.Close()
	err = each(dir, func(e fs.DirEntry) bool {
		if n, ok := policy.AttemptOfLog(e.Name()); ok {
			next = max(next, n+1)
		}
		return true
	})
	if err != nil {
		return 0, fmt.Errorf("logfiles: the attempts at container %s: %w", container, err)
	}
	return next, nil
}

// RemoveAttempts removes the logs of the attempts at a container that are not
// kept and older than the newest that is. None kept: nothing is removed, so that
// the number of the last attempt can still be seen.
func (d *Dir) RemoveAttempts(pod runtime.PodRef, container string, keep []uint32) error {
	if len(keep) == 0 {
		return nil
	}
	dir, err := d.open(directory(pod), container)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("logfiles: %w", err)
	}
	defer dir.Close()
	newest := slices.Max(keep)
	var names []string
	err = each(dir, func(e fs.DirEntry) bool {
		if n, ok := policy.AttemptOfLog(e.Name()); ok && n < newest && !slices.Contains(keep, n) && !e.IsDir() {
			names = append(names, e.Name())
		}
		return true
	})
	var errs []error
	if err != nil && !errors.Is(err, ErrTooMany) { // What was read can go, and then there are fewer.
		errs = append(errs, fmt.Errorf("logfiles: the logs of container %s: %w", container, err))
	}
	for _, name := range names {
		if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("logfiles: a log of container %s: %w", container, err))
		}
	}
	return errors.Join(errs...)
}

// directory is the name of a pod's directory.
func directory(pod runtime.PodRef) string {
	return pod.Namespace + "_" + pod.Name + "_" + string(pod.UID)
}
