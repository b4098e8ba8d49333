package logfiles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

// Pods returns the UIDs of pods that have a directory and for which the function of returns true:
// at most limit of them, sorted.
func (d *Dir) Pods(of func(types.UID) bool, limit int) ([]types.UID, error) {
	recorded, err := d.recordedDirs("")
	if err != nil {
		return nil, fmt.Errorf("logfiles: %w", err)
	}
	found := make(map[types.UID]bool)
	for _, r := range recorded {
		if len(found) < limit && !found[r.UID] && of(r.UID) {
			found[r.UID] = true
		}
	}
	for _, path := range d.ownRoots() {
		root, err := open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("logfiles: %w", err)
		}
		err = each(root, func(e fs.DirEntry) bool {
			if uid, ok := podOf(e); ok && len(found) < limit && !found[uid] && of(uid) {
				found[uid] = true
			}
			return len(found) < limit
		})
		root.Close()
		if err != nil && !errors.Is(err, ErrTooMany) {
			return nil, fmt.Errorf("logfiles: list the pods: %w", err)
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// Remove removes the logs of a pod if gone returns true, and logs that the UID has under other
// names as well. Remove calls gone and renames the directories under the lock that SetUp of the pod
// takes, so gone must not block. Then it releases the lock and removes the renamed directories. It
// removes nothing that is mounted in them: the removal stops there with an error. It removes the
// links to the logs last. Remove may be repeated; a pod without logs is no error.
func (d *Dir) Remove(ctx context.Context, uid types.UID, gone func(types.UID) bool) error {
	if !podspec.IsValidUID(uid) {
		return nil // No logs are written for it.
	}
	err := d.removeRecorded(ctx, uid, gone)
	for _, root := range d.ownRoots() {
		if err == nil {
			err = d.removeBelow(ctx, root, uid, gone)
		}
	}
	if err == nil {
		err = d.sweepLinks(ctx)
	}
	if err != nil {
		return fmt.Errorf("logfiles: pod %s: %w", uid, err)
	}
	return nil
}

// removeBelow removes the directories of a pod in a directory that is this node's alone.
func (d *Dir) removeBelow(ctx context.Context, path string, uid types.UID, gone func(types.UID) bool) error {
	root, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	mayGo, err := d.putAside(ctx, root, uid, gone)
	if err == nil && mayGo {
		_, err = osfile.EmptyTrash(ctx, root, func(owner string) bool { return owner == string(uid) }, nil)
	}
	return err
}

// removeRecorded removes the directories of a pod that this node has made in a shared directory,
// with the links to its logs.
func (d *Dir) removeRecorded(ctx context.Context, uid types.UID, gone func(types.UID) bool) error {
	found, err := d.recordedDirs(uid)
	for _, r := range found {
		if err == nil {
			err = d.removeRecord(ctx, r, gone)
		}
	}
	return err
}

func (d *Dir) removeRecord(ctx context.Context, r record, gone func(types.UID) bool) error {
	root, err := open(r.Root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		defer root.Close()
		if mayGo, err := d.putRecordedAside(ctx, root, r, gone); err != nil || !mayGo {
			return err
		}
		if _, err := osfile.EmptyTrash(ctx, root, func(owner string) bool { return owner == r.id }, nil); err != nil {
			return err
		}
	}
	if err := d.sweepLinks(ctx); err != nil {
		return err
	}
	defer d.locks.Lock(r.UID)()
	if root != nil {
		if _, err := root.Lstat(r.Name); err == nil {
			return nil // The pod has come back, and has a directory again.
		}
	}
	return d.records.remove(r)
}

// putRecordedAside moves a recorded directory out of the way if its pod is gone. A directory that
// another program may have made stays.
func (d *Dir) putRecordedAside(ctx context.Context, root *os.Root, r record, gone func(types.UID) bool) (mayGo bool, err error) {
	defer d.locks.Lock(r.UID)()
	if !gone(r.UID) {
		return false, nil
	}
	if !r.Made {
		return false, d.records.remove(r)
	}
	return true, setAside(ctx, root, r.Name, r.id)
}

// setAside moves one directory out of the way. A missing one is no error.
func setAside(ctx context.Context, root *os.Root, name, owner string) error {
	err := osfile.Discard(root, name, owner)
	if osfile.IsDiskFull(err) { // The directory to remove may fill the disk.
		err = osfile.RemoveAll(ctx, root, name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// putAside moves the directories of a pod in one root out of the way if gone returns true. mayGo
// reports whether the pod is gone and no directory is left.
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
			err = setAside(ctx, root, name, string(uid))
		}
	}
	return err == nil, err
}

// Sweep continues removals that were cut short or have failed, also removals of earlier agents, and
// removes links to logs that are gone. It returns how many directories it could not remove, and the
// first error. It does not continue removals in a shared root: Pods returns their pods until Remove
// has removed them.
func (d *Dir) Sweep(ctx context.Context) (left int, err error) {
	if err := d.sweepLinks(ctx); err != nil {
		return 0, fmt.Errorf("logfiles: links: %w", err)
	}
	for _, path := range d.ownRoots() {
		root, rootErr := open(path)
		if errors.Is(rootErr, fs.ErrNotExist) {
			continue
		}
		if rootErr == nil {
			var more int
			more, rootErr = osfile.EmptyTrash(ctx, root, func(string) bool { return true }, nil)
			left += more
			root.Close()
		}
		if rootErr != nil && err == nil {
			err = fmt.Errorf("logfiles: %w", rootErr)
		}
	}
	if err == nil {
		left = 0
	}
	return left, err
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
	dirs, err := d.openContainers(pod, container)
	if err != nil {
		return 0, err
	}
	defer closeAll(dirs)
	for _, dir := range dirs {
		err = each(dir, func(e fs.DirEntry) bool {
			if n, ok := policy.AttemptOfLog(e.Name()); ok {
				next = max(next, n+1)
			}
			return true
		})
		if err != nil {
			return 0, fmt.Errorf("logfiles: the attempts at container %s: %w", container, err)
		}
	}
	return next, nil
}

// RemoveAttempts removes the logs of a container's attempts that are not in keep and are older
// than the newest attempt in keep. With an empty keep it removes nothing, so that NextAttempt still
// finds the number of the last attempt. It also removes the links to these logs. Sweep removes the
// links that RemoveAttempts cannot remove.
func (d *Dir) RemoveAttempts(pod runtime.PodRef, container string, keep []uint32) error {
	if len(keep) == 0 {
		return nil
	}
	dirs, err := d.openContainers(pod, container)
	if err != nil {
		return err
	}
	defer closeAll(dirs)
	newest := slices.Max(keep)
	goes := func(n uint32) bool { return n < newest && !slices.Contains(keep, n) }
	var errs []error
	for _, dir := range dirs {
		errs = append(errs, removeAttempts(dir, container, goes))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	d.removeAttemptLinks(pod, container, goes)
	return nil
}

// removeAttempts is RemoveAttempts in one directory.
func removeAttempts(dir *os.Root, container string, goes func(attempt uint32) bool) error {
	var names []string
	err := each(dir, func(e fs.DirEntry) bool {
		if n, ok := policy.AttemptOfLog(e.Name()); ok && goes(n) && !e.IsDir() {
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
