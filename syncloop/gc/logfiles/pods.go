package logfiles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/internal/poduid"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

// Pods lists pods that have a directory and for which of answers true, at most
// limit of them, in the order of their UIDs.
func (d *Dir) Pods(of func(types.UID) bool, limit int) ([]types.UID, error) {
	root, err := d.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("logfiles: %w", err)
	}
	defer root.Close()
	var uids []types.UID
	err = each(root, func(e fs.DirEntry) bool {
		if uid, ok := podOf(e); ok && of(uid) {
			uids = append(uids, uid)
		}
		return len(uids) < limit
	})
	if err != nil && !errors.Is(err, ErrTooMany) {
		return nil, fmt.Errorf("logfiles: list the pods: %w", err)
	}
	slices.Sort(uids)
	return slices.Compact(uids), nil
}

// SetUp makes the directory for the logs of a pod. It is called before the runtime gets
// the path: what a removal that began before finds is the former directory, and later
// ones see that the pod is not gone.
func (d *Dir) SetUp(pod runtime.PodRef) error {
	if err := poduid.Check(pod.UID); err != nil {
		return fmt.Errorf("logfiles: %w", err)
	}
	defer d.locks.Lock(pod.UID)()
	if err := os.MkdirAll(d.cfg.Root, dirMode); err != nil {
		return fmt.Errorf("logfiles: %w", err)
	}
	root, err := osfile.OpenDir(d.cfg.Root)
	if err != nil {
		return fmt.Errorf("logfiles: %w", err)
	}
	defer root.Close()
	if err := root.Mkdir(directory(pod), dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("logfiles: %w", err)
	}
	return nil
}

// dirMode is the mode of the directories: tools that collect logs read them.
const dirMode = 0o755

// Remove removes the logs of a pod, those of a former name of it as well, if gone
// answers true. gone is asked while SetUp of the pod waits, and must not block; after
// that the directories are renamed, and what was renamed is removed when SetUp waits no
// longer. Nothing that is mounted in them is removed: the removal stops there. It may
// be repeated; nothing to remove is no error.
func (d *Dir) Remove(ctx context.Context, uid types.UID, gone func(types.UID) bool) error {
	if !poduid.Valid(uid) {
		return nil // No logs are written for it.
	}
	root, err := d.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("logfiles: %w", err)
	}
	defer root.Close()
	mayGo, err := d.putAside(ctx, root, uid, gone)
	if err == nil && mayGo {
		_, err = osfile.EmptyTrash(ctx, root, func(owner string) bool { return owner == string(uid) }, nil)
	}
	if err != nil {
		return fmt.Errorf("logfiles: pod %s: %w", uid, err)
	}
	return nil
}

// putAside has the directories of a pod out of the way, if they may go.
func (d *Dir) putAside(ctx context.Context, root *os.Root, uid types.UID, gone func(types.UID) bool) (mayGo bool, err error) {
	defer d.locks.Lock(uid)()
	if !gone(uid) {
		return false, nil
	}
	var names []string
	err = each(root, func(e fs.DirEntry) bool {
		if of, ok := podOf(e); ok && of == uid {
			names = append(names, e.Name())
		}
		return ctx.Err() == nil
	})
	if err == nil {
		err = ctx.Err()
	}
	for _, name := range names {
		if err == nil {
			err = osfile.Discard(root, name, string(uid))
		}
		if osfile.IsFull(err) { // Perhaps of what is to be removed here.
			err = osfile.RemoveAll(ctx, root, name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return err == nil, err
}

// Sweep goes on with removals that were cut short or have failed, those of former
// agents too, and tells how many directories are left that could not be removed. It removes links to
// logs that are gone. The error is the first of these.
func (d *Dir) Sweep(ctx context.Context) (left int, err error) {
	if err := d.sweepLinks(ctx); err != nil {
		return 0, fmt.Errorf("logfiles: links: %w", err)
	}
	root, err := d.open()
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("logfiles: %w", err)
	}
	defer root.Close()
	left, err = osfile.EmptyTrash(ctx, root, func(string) bool { return true }, nil)
	if err != nil {
		return left, fmt.Errorf("logfiles: %w", err)
	}
	return 0, nil
}

// podOf is the pod of an entry of the root.
func podOf(e fs.DirEntry) (types.UID, bool) {
	if !e.IsDir() {
		return "", false
	}
	return policy.PodOfLogs(e.Name())
}

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
