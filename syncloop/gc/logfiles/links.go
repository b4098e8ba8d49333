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

// Link creates a link to the log of a container in Config.Links, with the name that kubelets use in
// /var/log/containers: <name>_<namespace>_<container>-<id>.log. It is called after the container
// has started. An existing link stays. Without Config.Links it does nothing.
func (d *Dir) Link(pod runtime.PodRef, container, id string, attempt uint32) error {
	if d.cfg.Links == "" {
		return nil
	}
	const longest, suffix = 255, ".log"
	name := pod.Name + "_" + pod.Namespace + "_" + container + "-" + id
	name = name[:min(len(name), longest-len(suffix))] + suffix
	target, err := d.pathOfLog(pod, container, attempt)
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
		return fmt.Errorf("logfiles: link to a log of container %s: %w", container, err)
	}
	return nil
}

// pathOfLog returns the path of the log of a container attempt. If the log does not exist yet, that is the path
// at which the runtime will create it. It returns fs.ErrNotExist if the pod has no log directory.
func (d *Dir) pathOfLog(pod runtime.PodRef, container string, attempt uint32) (string, error) {
	places, err := d.logDirectories(pod)
	if err != nil {
		return "", err
	}
	if len(places) == 0 {
		return "", fmt.Errorf("directory of pod %s: %w", pod.UID, fs.ErrNotExist)
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

// removeLinksToGoneLogs removes each symbolic link to a container log of this node if that log does not exist
// and will not exist again. It keeps links with other targets.
func (d *Dir) removeLinksToGoneLogs(ctx context.Context) error {
	recorded, err := d.recordsOfUID("")
	if err != nil {
		return err
	}
	pods := make(map[string]bool, len(recorded))
	for _, r := range recorded {
		pods[r.path()] = r.Made
	}
	ours := func(target string) bool {
		below := func(root string) bool { return strings.HasPrefix(target, root+string(filepath.Separator)) }
		return pods[filepath.Dir(filepath.Dir(target))] || slices.ContainsFunc(d.rootsOfThisNode(), below)
	}
	return d.removeLinksWhere(ctx, func(target string) bool { return ours(target) && isLogGoneForGood(target) })
}

// isLogGoneForGood reports whether a log does not exist and will not exist again: its directory is gone, or the
// directory has files of a newer attempt and none of the log's attempt. A rotated file shows that a rotation
// may be in progress. The newest attempt of a container may still create its log.
func isLogGoneForGood(target string) bool {
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
	err = forEachEntry(dir, func(e fs.DirEntry) bool {
		n, is := policy.AttemptOfLog(e.Name())
		has, newer = has || is && n == attempt, newer || is && n > attempt
		return true
	})
	return err == nil && ok && newer && !has
}

// removeLinksWhere removes the symbolic links to logs whose target matches, in all configured link directories.
func (d *Dir) removeLinksWhere(ctx context.Context, matches func(target string) bool) error {
	var errs []error
	for _, links := range append([]string{d.cfg.Links}, d.cfg.OldLinks...) {
		if links != "" {
			errs = append(errs, removeLinksIn(ctx, links, matches))
		}
	}
	return errors.Join(errs...)
}

// removeLinksIn removes the symbolic links in one directory whose target matches. A missing directory is no
// error.
func removeLinksIn(ctx context.Context, links string, matches func(target string) bool) error {
	dir, err := osfile.OpenDir(links)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	var gone []string
	err = forEachEntry(dir, func(e fs.DirEntry) bool {
		if target, err := dir.Readlink(e.Name()); err == nil && matches(target) {
			gone = append(gone, e.Name())
		}
		return ctx.Err() == nil
	})
	if errors.Is(err, ErrTooMany) { // Remove the links that were read; other programs may have created the rest.
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

// removeAttemptLinks removes the symbolic links to the logs of a container's attempts for which shouldRemove
// returns true. It ignores errors, so that a link that cannot be removed does not block the removal of the
// container. A later Sweep removes such a link, and returns the error.
func (d *Dir) removeAttemptLinks(pod runtime.PodRef, container string, shouldRemove func(attempt uint32) bool) {
	places, err := d.logDirectories(pod)
	if err != nil {
		return // Sweep returns this error.
	}
	_ = d.removeLinksWhere(context.Background(), func(target string) bool {
		of := func(p logDirectory) bool { return filepath.Join(p.root, p.name, container) == filepath.Dir(target) }
		attempt, ok := policy.AttemptOfLog(filepath.Base(target))
		return ok && shouldRemove(attempt) && slices.ContainsFunc(places, of)
	})
}
