package logfiles

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

// place is a directory of a pod's logs that is this node's.
type place struct{ root, name string }

// isShared reports whether Config.Root has directories of others as well.
func (d *Dir) isShared() bool { return d.records != nil }

// ownRoots returns the directories that are this node's alone.
func (d *Dir) ownRoots() []string {
	if d.isShared() {
		return d.cfg.OwnRoots
	}
	return append([]string{d.cfg.Root}, d.cfg.OwnRoots...)
}

// SetUp makes the directory for the logs of a pod. The caller calls it before it gives the path to
// the runtime. A removal that began before SetUp removes the former directory only, and a later
// removal finds that the pod is not gone. If another program has a directory of that name in a
// shared root, SetUp makes one of another name.
func (d *Dir) SetUp(pod runtime.PodRef) error {
	if err := podspec.CheckUID(pod.UID); err != nil {
		return fmt.Errorf("logfiles: %w", err)
	}
	ran := d.ranWithoutRecord(pod)
	defer d.locks.Lock(pod.UID)()
	if err := os.MkdirAll(d.cfg.Root, dirMode); err != nil {
		return fmt.Errorf("logfiles: %w", err)
	}
	root, err := osfile.OpenDir(d.cfg.Root)
	if err != nil {
		return fmt.Errorf("logfiles: %w", err)
	}
	defer root.Close()
	if d.isShared() {
		err = d.setUpShared(root, pod, ran)
	} else {
		err = makeDir(root, directory(pod))
	}
	if err != nil {
		return fmt.Errorf("logfiles: %w", err)
	}
	return nil
}

// dirMode is the mode of the directories: tools that collect logs read them.
const dirMode = 0o755

// makeDir makes the directory of a pod, or uses an existing one. The runtime follows links when
// it writes logs, so a link in the place of the directory, or of a container's directory in it, is
// removed. What the link leads to stays as it is. Anything else in the place is an error.
func makeDir(root *os.Root, name string) error {
	if isLink(root, name) {
		if err := root.Remove(name); err != nil {
			return err
		}
	}
	if err := root.Mkdir(name, dirMode); err == nil || !errors.Is(err, fs.ErrExist) {
		return err
	}
	dir, err := osfile.OpenSubdir(root, name)
	if err != nil {
		return err
	}
	defer dir.Close()
	var links []string
	err = each(dir, func(e fs.DirEntry) bool {
		if e.Type()&fs.ModeSymlink != 0 {
			links = append(links, e.Name())
		}
		return true
	})
	for _, link := range links {
		if err == nil {
			err = dir.Remove(link)
		}
	}
	return err
}

// isLink reports whether an entry of a directory is a symbolic link.
func isLink(dir *os.Root, name string) bool {
	info, err := dir.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// setUpShared makes a directory that no other program has made, and records that.
func (d *Dir) setUpShared(root *os.Root, pod runtime.PodRef, ran bool) error {
	found, err := d.podRecords(pod, ran)
	if err != nil {
		return err
	}
	for _, r := range found {
		switch {
		case r.Root != d.cfg.Root:
		case r.Made && !isLink(root, r.Name):
			return makeDir(root, r.Name)
		default: // The agent ended while it made the directory, or a link is there: it may be another program's.
			if err := d.records.remove(r); err != nil {
				return err
			}
		}
	}
	const attempts = 10
	name := directory(pod)
	for range attempts {
		r, err := d.records.add(record{Root: d.cfg.Root, Name: name, Pod: directory(pod), UID: pod.UID})
		if err != nil {
			return err
		}
		if err = root.Mkdir(name, dirMode); err == nil {
			r.Made = true
			return d.records.put(r)
		}
		if forgotten := d.records.remove(r); forgotten != nil || !errors.Is(err, fs.ErrExist) {
			return errors.Join(err, forgotten)
		}
		name = directory(pod) + "." + strings.ToLower(rand.Text()[:8])
	}
	return fmt.Errorf("make %s: %w", name, fs.ErrExist)
}

// LogDir returns the directory of a pod's logs, which SetUp has made, for the runtime. It is
// called right after SetUp.
func (d *Dir) LogDir(pod runtime.PodRef) (string, error) {
	if d.isShared() {
		found, err := d.podRecords(pod, d.ranWithoutRecord(pod))
		if err != nil {
			return "", fmt.Errorf("logfiles: %w", err)
		}
		for _, r := range found {
			if r.Root == d.cfg.Root && r.Made {
				return r.path(), nil
			}
		}
	}
	return filepath.Join(d.cfg.Root, directory(pod)), nil
}

// ranWithoutRecord reports whether a pod has no record, and Config.Ran says that the runtime has run
// it for this node. It is called without a lock.
func (d *Dir) ranWithoutRecord(pod runtime.PodRef) bool {
	if !d.isShared() || d.cfg.Ran == nil {
		return false
	}
	found, err := d.listRecords(pod)
	return err == nil && len(found) == 0 && d.cfg.Ran(pod.UID)
}

func (d *Dir) listRecords(pod runtime.PodRef) ([]record, error) {
	return d.records.list(func(r record) bool { return r.Pod == directory(pod) })
}

// podRecords returns the records of a pod. An earlier version of this package made directories
// without records. If a pod has no record and ran is what ranWithoutRecord has returned, true,
// podRecords writes the record of its directory.
func (d *Dir) podRecords(pod runtime.PodRef, ran bool) ([]record, error) {
	found, err := d.listRecords(pod)
	if err != nil || len(found) > 0 || !ran {
		return found, err
	}
	info, err := os.Lstat(filepath.Join(d.cfg.Root, directory(pod)))
	if err != nil || !info.IsDir() {
		return nil, nil // There is none, or it is not known to be ours.
	}
	if _, ours := policy.PodOfLogs(directory(pod)); !ours {
		return nil, nil
	}
	r, err := d.records.add(record{Root: d.cfg.Root, Name: directory(pod), Pod: directory(pod), UID: pod.UID, Made: true})
	return []record{r}, err
}

// places returns the directories of a pod's logs. The directory for new logs is the first.
func (d *Dir) places(pod runtime.PodRef) (all []place, err error) {
	if d.isShared() {
		found, err := d.podRecords(pod, d.ranWithoutRecord(pod))
		if err != nil {
			return nil, fmt.Errorf("logfiles: %w", err)
		}
		for _, r := range found {
			p := place{r.Root, r.Name}
			switch {
			case !r.Made:
			case r.Root == d.cfg.Root:
				all = append([]place{p}, all...)
			default:
				all = append(all, p)
			}
		}
	}
	for _, root := range d.ownRoots() {
		all = append(all, place{root, directory(pod)})
	}
	return all, nil
}

// openContainers opens the directories of a container's logs that there are, the one for new logs
// first. The caller closes them.
func (d *Dir) openContainers(pod runtime.PodRef, container string) ([]*os.Root, error) {
	places, err := d.places(pod)
	if err != nil {
		return nil, err
	}
	var dirs []*os.Root
	for _, p := range places {
		dir, err := open(p.root, p.name, container)
		switch {
		case err == nil:
			dirs = append(dirs, dir)
		case !errors.Is(err, fs.ErrNotExist):
			closeAll(dirs)
			return nil, fmt.Errorf("logfiles: %w", err)
		}
	}
	return dirs, nil
}

func closeAll(dirs []*os.Root) {
	for _, dir := range dirs {
		_ = dir.Close() // It was only read.
	}
}

// openLog opens the directory that has a log: the one with a file of its attempt, or else the
// one for new logs. fs.ErrNotExist: the container has none.
func (d *Dir) openLog(l Log) (*os.Root, error) {
	dirs, err := d.openContainers(l.Pod, l.Container)
	if err != nil {
		return nil, err
	}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("logfiles: the logs of container %s: %w", l.Container, fs.ErrNotExist)
	}
	for i, dir := range dirs {
		if len(dirs) == 1 || hasAttempt(dir, l.Attempt) {
			closeAll(append(dirs[:i:i], dirs[i+1:]...))
			return dir, nil
		}
	}
	closeAll(dirs[1:])
	return dirs[0], nil
}

// hasAttempt reports whether a directory has a file of an attempt.
func hasAttempt(dir *os.Root, attempt uint32) (has bool) {
	_ = each(dir, func(e fs.DirEntry) bool {
		n, ok := policy.AttemptOfLog(e.Name())
		has = ok && n == attempt
		return !has
	})
	return has
}

// recordedDirs returns the records of a pod, or with an empty UID of all pods. Their directories may be
// gone.
func (d *Dir) recordedDirs(uid types.UID) ([]record, error) {
	if !d.isShared() {
		return nil, nil
	}
	return d.records.list(func(r record) bool { return uid == "" || r.UID == uid })
}
