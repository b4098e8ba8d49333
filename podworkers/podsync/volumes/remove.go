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
	return d.discardAndRemoveIfGone(ctx, uid, func(types.UID) bool { return true })
}

// Remove is TearDown for a pod that may be desired. gone is called right before the rename, while no
// SetUp of the UID can run, and must not block. If it returns false, Remove does nothing and returns
// nil.
func (d *Dir) Remove(ctx context.Context, uid types.UID, gone func(types.UID) bool) error {
	return d.discardAndRemoveIfGone(ctx, uid, gone)
}

// discardAndRemoveIfGone removes the directory of a pod if isGone returns true for its UID. It also removes
// directories of the UID that were discarded before.
func (d *Dir) discardAndRemoveIfGone(ctx context.Context, uid types.UID, isGone func(types.UID) bool) error {
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
	mayGo, err := d.discardPodDirIfGone(ctx, pods, uid, isGone)
	if err != nil {
		return fmt.Errorf("volumes: pod %s: %w", uid, err)
	}
	if !mayGo {
		return nil
	}
	return d.removeDiscarded(ctx, uid)
}

// removeDiscarded deletes all directories of a UID that were discarded, that is, renamed into the trash
// directory.
func (d *Dir) removeDiscarded(ctx context.Context, uid types.UID) error {
	pods, err := d.openPodsDir()
	if err != nil {
		return fmt.Errorf("volumes: pod %s: %w", uid, err)
	}
	defer pods.Close()
	if _, err := removeDiscardedVolumes(ctx, pods, func(owner string) bool { return owner == string(uid) }); err != nil {
		return fmt.Errorf("volumes: pod %s: %w", uid, err)
	}
	return nil
}

// discardPodDirIfGone moves the directory of a pod into the trash directory if isGone returns true, and deletes
// its read number. If the disk is too full for that, it deletes the directory at once, under the lock. mayGo is
// the result of isGone.
func (d *Dir) discardPodDirIfGone(ctx context.Context, pods *os.Root, uid types.UID, isGone func(types.UID) bool) (mayGo bool, err error) {
	defer d.locks.Lock(uid)()
	if !isGone(uid) {
		return false, nil
	}
	err = discardDir(pods, string(uid))
	if osfile.IsDiskFull(err) {
		if err = unmountEntry(pods, string(uid)); err == nil {
			err = osfile.RemoveAll(ctx, pods, string(uid))
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	d.readOrder.forgetPod(uid)
	return true, nil
}

// discardDir moves a pod's directory into the trash directory, from which it is deleted later. If the directory
// is a mount point, it first unmounts the file systems there, because the kernel does not rename a mount point.
func discardDir(podsDirRoot *os.Root, name string) error {
	err := osfile.Discard(podsDirRoot, name, name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := unmountEntry(podsDirRoot, name); err != nil {
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
	left, err = removeDiscardedVolumes(ctx, pods, func(string) bool { return true })
	if err != nil {
		return left, fmt.Errorf("volumes: %w", err)
	}
	return 0, nil
}

// removeDiscardedVolumes unmounts and deletes the directories in the trash directory for whose owner matches
// returns true. left is the number of directories that remain in the trash.
func removeDiscardedVolumes(ctx context.Context, pods *os.Root, matches func(owner string) bool) (left int, err error) {
	return osfile.EmptyTrash(ctx, pods, matches, func(path string) error { return unmountEntry(pods, path) })
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

// listPods returns at most limit UIDs that have a directory and match, in no order. It looks at no more than
// maxEntries directories.
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
