package logfiles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

// Link makes a link to the log of a container in Config.Links, as kubelets have it in
// /var/log/containers for those who collect logs: <name>_<namespace>_<container>-<id>.log. It
// is called once the container has started. A link that is there stays. Without
// Config.Links it does nothing.
func (d *Dir) Link(pod runtime.PodRef, container, id string, attempt uint32) error {
	if d.cfg.Links == "" {
		return nil
	}
	const longest, suffix = 255, ".log"
	name := pod.Name + "_" + pod.Namespace + "_" + container + "-" + id
	name = name[:min(len(name), longest-len(suffix))] + suffix
	target, err := d.logPath(pod, container, attempt)
	if err == nil {
		err = os.MkdirAll(d.cfg.Links, 0o755)
	}
	if err == nil {
		var dir *os.Root
		if dir, err = osfile.OpenDir(d.cfg.Links); err == nil {
			defer dir.Close()
			err = dir.Symlink(target, name)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("logfiles: the link to a log of container %s: %w", container, err)
	}
	return nil
}

// logPath is where the log of an attempt is, or will be.
func (d *Dir) logPath(pod runtime.PodRef, container string, attempt uint32) (string, error) {
	places, err := d.places(pod)
	if err != nil {
		return "", err
	}
	if len(places) == 0 {
		return "", fmt.Errorf("pod %s: its directory: %w", pod.UID, fs.ErrNotExist)
	}
	file := fmt.Sprintf("%d.log", attempt)
	for _, p := range places {
		path := filepath.Join(p.root, p.name, container, file)
		if _, err := os.Lstat(path); err == nil {
			return path, nil
		}
	}
	return filepath.Join(places[0].root, places[0].name, container, file), nil
}

// sweepLinks removes the links to logs of this node that are gone. Others are not ours.
func (d *Dir) sweepLinks(ctx context.Context) error {
	recorded, err := d.recordedDirs("")
	if err != nil {
		return err
	}
	pods := make(map[string]bool, len(recorded))
	for _, r := range recorded {
		pods[r.path()] = r.Made
	}
	ours := func(target string) bool {
		below := func(root string) bool { return strings.HasPrefix(target, root+string(filepath.Separator)) }
		return pods[filepath.Dir(filepath.Dir(target))] || slices.ContainsFunc(d.ownRoots(), below)
	}
	return d.removeLinks(ctx, func(target string) bool { return ours(target) && isGone(target) })
}

// isGone reports whether the log of an attempt is gone for good. A log that is being rotated has no
// file of its name, but others of its attempt. The newest attempt of a container may still write one.
func isGone(target string) bool {
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	attempt, ok := policy.AttemptOfLog(filepath.Base(target))
	dir, err := osfile.OpenDir(filepath.Dir(target))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true
	case err != nil:
		return false
	}
	defer dir.Close()
	has, newer := false, false
	err = each(dir, func(e fs.DirEntry) bool {
		n, is := policy.AttemptOfLog(e.Name())
		has, newer = has || is && n == attempt, newer || is && n > attempt
		return true
	})
	return err == nil && ok && newer && !has
}

// removeLinks removes the links whose targets a filter takes.
func (d *Dir) removeLinks(ctx context.Context, takes func(target string) bool) error {
	var errs []error
	for _, links := range append([]string{d.cfg.Links}, d.cfg.OldLinks...) {
		if links != "" {
			errs = append(errs, removeLinksOf(ctx, links, takes))
		}
	}
	return errors.Join(errs...)
}

// removeLinksOf removes the links of one directory whose targets a filter takes.
func removeLinksOf(ctx context.Context, links string, takes func(target string) bool) error {
	dir, err := osfile.OpenDir(links)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	var gone []string
	err = each(dir, func(e fs.DirEntry) bool {
		if target, err := dir.Readlink(e.Name()); err == nil && takes(target) {
			gone = append(gone, e.Name())
		}
		return ctx.Err() == nil
	})
	if errors.Is(err, ErrTooMany) { // The links that were read can go; other programs may have made the rest.
		err = nil
	}
	errs := []error{err}
	for _, name := range gone {
		if err := dir.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// removeAttemptLinks removes the links to the logs of attempts that RemoveAttempts removes. A link
// that cannot be removed keeps no record of a container: Sweep tries again, and says why.
func (d *Dir) removeAttemptLinks(pod runtime.PodRef, container string, goes func(attempt uint32) bool) {
	places, err := d.places(pod)
	if err != nil {
		return // Sweep says so.
	}
	_ = d.removeLinks(context.Background(), func(target string) bool {
		of := func(p place) bool { return filepath.Join(p.root, p.name, container) == filepath.Dir(target) }
		attempt, ok := policy.AttemptOfLog(filepath.Base(target))
		return ok && goes(attempt) && slices.ContainsFunc(places, of)
	})
}
