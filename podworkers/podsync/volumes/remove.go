package volumes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/internal/podspec"
)

// TearDown implements podsync.Volumes. It first renames the directory of the pod, so that a new pod
// with the same UID never shares a directory with a removal. Then it unmounts everything in the
// directory and removes it, without crossing a mount. It may be repeated, and continues after an error
// or a cancelled ctx. A nil error means that nothing of the pod is left.
func (d *Dir) TearDown(ctx context.Context, uid types.UID) error {
	return d.removePodDirIfGone(ctx, uid, func(types.UID) bool { return true })
}

// Remove is TearDown for a pod that may be desired. gone is called right before the rename, while no
// SetUp of the UID can run, and must not block. If it returns false, Remove does nothing and returns
// nil.
func (d *Dir) Remove(ctx context.Context, uid types.UID, gone func(types.UID) bool) error {
	return d.removePodDirIfGone(ctx, uid, gone)
}

// removePodDirIfGone deletes the directory of a pod if isGone returns true for the UID. It then also deletes
// directories of the UID that an earlier call has moved to the trash directory. It does nothing for an invalid
// UID.
func (d *Dir) removePodDirIfGone(ctx context.Context, uid types.UID, isGone func(types.UID) bool) error {
	if !podspec.IsValidUID(uid) {
		return nil // SetUp rejects such a UID.
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	pods, err := d.openPodsDir()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("volumes: pod %s: %w", uid, err)
	}
	defer pods.Close()
	mayGo, err := d.movePodDirToTrashIfGone(ctx, pods, uid, isGone)
	if err != nil {
		return fmt.Errorf("volumes: pod %s: %w", uid, err)
	}
	if !mayGo {
		return nil
	}
	return d.removeDiscardedDirsOfUID(ctx, uid)
}

// removeDiscardedDirsOfUID deletes the directories of a UID in the trash directory. It first unmounts every
// file system in them.
func (d *Dir) removeDiscardedDirsOfUID(ctx context.Context, uid types.UID) error {
	pods, err := d.openPodsDir()
	if err != nil {
		return fmt.Errorf("volumes: pod %s: %w", uid, err)
	}
	defer pods.Close()
	if _, err := removeDiscardedDirs(ctx, pods, func(owner string) bool { return owner == string(uid) }); err != nil {
		return fmt.Errorf("volumes: pod %s: %w", uid, err)
	}
	return nil
}

// movePodDirToTrashIfGone moves the directory of a pod to the trash directory if isGone returns true. It then
// also deletes the stored number of the pod's last read. If the disk is too full for the move, it deletes the
// directory at once. mayGo is false if isGone returns false or an error occurs.
func (d *Dir) movePodDirToTrashIfGone(ctx context.Context, pods *os.Root, uid types.UID, isGone func(types.UID) bool) (mayGo bool, err error) {
	defer d.locks.Lock(uid)()
	if !isGone(uid) {
		return false, nil
	}
	err = moveDirToTrashUnmountIfNeeded(pods, string(uid))
	if osfile.IsDiskFull(err) {
		if err = unmountEntryTree(pods, string(uid)); err == nil {
			err = osfile.RemoveAll(ctx, pods, string(uid))
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	d.readOrder.forgetPod(uid)
	return true, nil
}

// moveDirToTrashUnmountIfNeeded moves the directory of a pod to the trash directory, whose content is deleted later. If the
// move fails, it unmounts everything in the directory and tries once more, because a mount point cannot be
// moved.
func moveDirToTrashUnmountIfNeeded(podsDirRoot *os.Root, name string) error {
	err := osfile.Discard(podsDirRoot, name, name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := unmountEntryTree(podsDirRoot, name); err != nil {
		return err
	}
	return osfile.Discard(podsDirRoot, name, name)
}

// Sweep continues removals that were cut short or have failed, also of earlier agents. It returns
// how many directories are left, and the first error. It may be called at any time and repeated.
func (d *Dir) Sweep(ctx context.Context) (left int, err error) {
	pods, err := d.openPodsDir()
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("volumes: %w", err)
	}
	defer pods.Close()
	left, err = removeDiscardedDirs(ctx, pods, func(string) bool { return true })
	if err != nil {
		return left, fmt.Errorf("volumes: %w", err)
	}
	return 0, nil
}

// removeDiscardedDirs unmounts and deletes the directories in the trash directory for whose UID matches returns
// true. left is the number of directories that remain there.
func removeDiscardedDirs(ctx context.Context, pods *os.Root, matches func(owner string) bool) (left int, err error) {
	return osfile.EmptyTrash(ctx, pods, matches, func(path string) error { return unmountEntryTree(pods, path) })
}

// maxEntries bounds the names that are read to find the directories of pods.
const maxEntries = 1 << 16

// Pods returns the UIDs of pods that have a directory and for which matches returns true, sorted, at
// most limit. With it a caller finds pods that were removed while no agent ran.
func (d *Dir) Pods(matches func(types.UID) bool, limit int) ([]types.UID, error) {
	uids, err := d.listPods(matches, limit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("volumes: list the pods: %w", err)
	}
	slices.Sort(uids)
	return uids, nil
}

// listPods returns the UIDs that have a directory and for which matches returns true, at most limit and in no
// order. It reads at most maxEntries directory entries.
func (d *Dir) listPods(matches func(types.UID) bool, limit int) (uids []types.UID, err error) {
	dir, err := d.openPodsDir()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	pods, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer pods.Close()
	const piece = 256
	for read := 0; read < maxEntries; read += piece {
		entries, err := pods.ReadDir(piece)
		for _, e := range entries {
			if uid := types.UID(e.Name()); e.IsDir() && podspec.IsValidUID(uid) && len(uids) < limit && matches(uid) {
				uids = append(uids, uid)
			}
		}
		if errors.Is(err, io.EOF) || len(uids) >= limit {
			return uids, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return uids, nil
}
