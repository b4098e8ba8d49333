package logfiles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/gc/internal/policy"
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

// TearDown removes the logs of a pod, those of a former name of it as well. It
// may be repeated; nothing to remove is no error.
func (d *Dir) TearDown(ctx context.Context, uid types.UID) error {
	root, err := d.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("logfiles: %w", err)
	}
	defer root.Close()
	var names []string
	err = each(root, func(e fs.DirEntry) bool {
		if of, ok := podOf(e); ok && of == uid {
			names = append(names, e.Name())
		}
		return ctx.Err() == nil
	})
	if err != nil {
		return fmt.Errorf("logfiles: look for pod %s: %w", uid, err)
	}
	var errs []error
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := root.RemoveAll(name); err != nil {
			errs = append(errs, fmt.Errorf("logfiles: %w", err))
		}
	}
	return errors.Join(errs...)
}

// podOf is the pod of an entry of the root.
func podOf(e fs.DirEntry) (types.UID, bool) {
	if !e.IsDir() {
		return "", false
	}
	return policy.PodOfLogs(e.Name())
}
