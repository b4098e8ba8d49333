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

// Pods returns the UIDs of pods that have a directory and for which include returns true:
// at most limit of them, sorted.
func (d *Dir) Pods(include func(types.UID) bool, limit int) ([]types.UID, error) {
	recorded, err := d.recordsOfUID("")
	if err != nil {
		return nil, fmt.Errorf("logfiles: %w", err)
	}
	found := make(map[types.UID]bool)
	for _, r := range recorded {
		if len(found) < limit && !found[r.UID] && include(r.UID) {
			found[r.UID] = true
		}
	}
	for _, path := range d.rootsOfThisNode() {
		root, err := openDirectory(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("logfiles: %w", err)
		}
		err = forEachEntry(root, func(e fs.DirEntry) bool {
			if uid, ok := podOfEntry(e); ok && len(found) < limit && !found[uid] && include(uid) {
				found[uid] = true
			}
			return len(found) < limit
		})
		root.Close()
		if err != nil && !errors.Is(err, ErrTooMany) {
			return nil, fmt.Errorf("logfiles: list pods: %w", err)
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// Remove removes all logs of a pod UID if gone returns true, also logs that the UID has under other
// names. Remove calls gone and renames the directories under the lock of SetUp, so gone must not
// block. Then it releases the lock and removes the renamed directories. It stops with an error at a
// mount point. It removes the links to the logs last. Remove may be repeated; a pod without logs is
// no error.
func (d *Dir) Remove(ctx context.Context, uid types.UID, gone func(types.UID) bool) error {
	if !podspec.IsValidUID(uid) {
		return nil // No log directory can have this UID.
	}
	err := d.removeRecordedDirsAndLinksIfGone(ctx, uid, gone)
	for _, root := range d.rootsOfThisNode() {
		if err == nil {
			err = d.removePodFromRootOfThisNode(ctx, root, uid, gone)
		}
	}
	if err == nil {
		err = d.removeLinksToGoneLogs(ctx)
	}
	if err != nil {
		return fmt.Errorf("logfiles: pod %s: %w", uid, err)
	}
	return nil
}

// removePodFromRootOfThisNode removes the log directories of a pod from a root in which everything belongs to
// this node, if isGone returns true. It moves them to the root's trash directory and then deletes them there. A
// missing root is no error.
func (d *Dir) removePodFromRootOfThisNode(ctx context.Context, rootPath string, uid types.UID, isGone func(types.UID) bool) error {
	root, err := openDirectory(rootPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	mayGo, err := d.movePodToTrashIfGone(ctx, root, uid, isGone)
	if err == nil && mayGo {
		_, err = osfile.EmptyTrash(ctx, root, func(owner string) bool { return owner == string(uid) }, nil)
	}
	return err
}

// removeRecordedDirsAndLinksIfGone removes the log directories that this node has recorded for a pod, the links
// to its logs and the records, if isGone returns true. It stops at the first error.
func (d *Dir) removeRecordedDirsAndLinksIfGone(ctx context.Context, uid types.UID, isGone func(types.UID) bool) error {
	found, err := d.recordsOfUID(uid)
	for _, r := range found {
		if err == nil {
			err = d.removeDirRecordAndDeadLinksIfGone(ctx, r, isGone)
		}
	}
	return err
}

// removeDirRecordAndDeadLinksIfGone removes one recorded log directory of a pod, its record, and all links to
// logs that do not exist any longer. If isGone returns false for the pod, it removes nothing. If it is not
// certain that this node created the directory, it removes only the record. If the directory's root (the folder
// of all pods' logs) does not exist, it removes the record and the links without calling isGone. It keeps the
// record if SetUp has created the directory again meanwhile.
func (d *Dir) removeDirRecordAndDeadLinksIfGone(ctx context.Context, r directoryRecord, isGone func(types.UID) bool) error {
	root, err := openDirectory(r.Root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		defer root.Close()
		if mayGo, err := d.moveRecordedToTrashIfGone(ctx, root, r, isGone); err != nil || !mayGo {
			return err
		}
		if _, err := osfile.EmptyTrash(ctx, root, func(owner string) bool { return owner == r.id }, nil); err != nil {
			return err
		}
	}
	if err := d.removeLinksToGoneLogs(ctx); err != nil {
		return err
	}
	defer d.locks.Lock(r.UID)()
	if root != nil {
		if _, err := root.Lstat(r.Name); err == nil {
			return nil // SetUp has created the directory again.
		}
	}
	return d.records.remove(r)
}

// moveRecordedToTrashIfGone moves a recorded directory to the trash directory of its root if isGone returns
// true. If it is not certain that this node created the directory, only the record is deleted. If err is nil,
// goneAndMoved reports whether the directory is no longer at its old place.
func (d *Dir) moveRecordedToTrashIfGone(ctx context.Context, root *os.Root, r directoryRecord, isGone func(types.UID) bool) (goneAndMoved bool, err error) {
	defer d.locks.Lock(r.UID)()
	if !isGone(r.UID) {
		return false, nil
	}
	if !r.Made {
		return false, d.records.remove(r)
	}
	return true, moveToTrashOrRemove(ctx, root, r.Name, r.id)
}

// moveToTrashOrRemove moves one directory to the trash directory of its root. If the disk is full, it deletes
// the directory at once. A missing directory is no error.
func moveToTrashOrRemove(ctx context.Context, root *os.Root, name, owner string) error {
	err := osfile.Discard(root, name, owner)
	if osfile.IsDiskFull(err) { // The disk is full, perhaps because of this directory.
		err = osfile.RemoveAll(ctx, root, name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// movePodToTrashIfGone moves the directories of a pod in one root to the root's trash directory if isGone
// returns true. goneAndMoved is true if isGone returned true and no directory remains at the old place.
func (d *Dir) movePodToTrashIfGone(ctx context.Context, root *os.Root, uid types.UID, isGone func(types.UID) bool) (goneAndMoved bool, err error) {
	defer d.locks.Lock(uid)()
	if !isGone(uid) {
		return false, nil
	}
	var names []string
	err = forEachEntry(root, func(e fs.DirEntry) bool {
		if of, ok := podOfEntry(e); ok && of == uid {
			names = append(names, e.Name())
		}
		return ctx.Err() == nil
	})
	if err == nil {
		err = ctx.Err()
	}
	for _, name := range names {
		if err == nil {
			err = moveToTrashOrRemove(ctx, root, name, string(uid))
		}
	}
	return err == nil, err
}

// Sweep continues removals that were interrupted or have failed, also removals of earlier agents,
// and removes links to missing logs. It returns how many directories it could not remove, and the
// first error. It does not continue removals in a shared root: Pods returns their pods until Remove
// has removed them.
func (d *Dir) Sweep(ctx context.Context) (left int, err error) {
	if err := d.removeLinksToGoneLogs(ctx); err != nil {
		return 0, fmt.Errorf("logfiles: links: %w", err)
	}
	for _, path := range d.rootsOfThisNode() {
		root, rootErr := openDirectory(path)
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

// podOfEntry returns the pod UID in the name of a log directory. It returns false if the entry is no directory
// or its name has another form.
func podOfEntry(e fs.DirEntry) (types.UID, bool) {
	if !e.IsDir() {
		return "", false
	}
	return policy.PodOfLogs(e.Name())
}

// NextAttempt returns the highest attempt number with a log of a container plus one, or zero
// without logs.
func (d *Dir) NextAttempt(pod runtime.PodRef, container string) (next uint32, err error) {
	dirs, err := d.openContainerDirs(pod, container)
	if err != nil {
		return 0, err
	}
	defer closeDirs(dirs)
	for _, dir := range dirs {
		err = forEachEntry(dir, func(e fs.DirEntry) bool {
			if n, ok := policy.AttemptOfLog(e.Name()); ok {
				next = max(next, n+1)
			}
			return true
		})
		if err != nil {
			return 0, fmt.Errorf("logfiles: attempts of container %s: %w", container, err)
		}
	}
	return next, nil
}

// RemoveAttempts removes the logs of a container's attempts that are not in keep and are older than
// the newest attempt in keep. With an empty keep it removes nothing, so that NextAttempt still
// finds the number of the last attempt. It also removes the links to these logs. Sweep removes the
// links that RemoveAttempts could not remove.
func (d *Dir) RemoveAttempts(pod runtime.PodRef, container string, keep []uint32) error {
	if len(keep) == 0 {
		return nil
	}
	dirs, err := d.openContainerDirs(pod, container)
	if err != nil {
		return err
	}
	defer closeDirs(dirs)
	newest := slices.Max(keep)
	goes := func(n uint32) bool { return n < newest && !slices.Contains(keep, n) }
	var errs []error
	for _, dir := range dirs {
		errs = append(errs, removeAttemptFiles(dir, container, goes))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	d.removeAttemptLinks(pod, container, goes)
	return nil
}

// removeAttemptFiles removes the log files in one directory for whose attempt shouldRemove returns true,
// rotated ones included. It continues after an error.
func removeAttemptFiles(dir *os.Root, container string, shouldRemove func(attempt uint32) bool) error {
	var names []string
	err := forEachEntry(dir, func(e fs.DirEntry) bool {
		if n, ok := policy.AttemptOfLog(e.Name()); ok && shouldRemove(n) && !e.IsDir() {
			names = append(names, e.Name())
		}
		return true
	})
	var errs []error
	if err != nil && !errors.Is(err, ErrTooMany) { // Remove the files that were read; a later call removes the rest.
		errs = append(errs, fmt.Errorf("logfiles: logs of container %s: %w", container, err))
	}
	for _, name := range names {
		if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("logfiles: log of container %s: %w", container, err))
		}
	}
	return errors.Join(errs...)
}

// directoryName returns the name of a pod's log directory: namespace_name_uid.
func directoryName(pod runtime.PodRef) string {
	return pod.Namespace + "_" + pod.Name + "_" + string(pod.UID)
}
