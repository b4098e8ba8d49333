package manifest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/source"
)

// Source is a directory of manifests, or one file, as a source of static pods.
// Scan looks once; Run keeps looking. Neither may be called concurrently with
// itself or the other.
type Source struct {
	cfg   Config
	place place
	slow  *ioLimit
	kind  kindOfPath // what the path was when first seen

	files  map[string]*file // by path
	memory int64            // of all of their pods
	last   source.Snapshot
	told   told

	debounced time.Time // when the end of changes was last waited for; zero is never

	newAnnouncer func() (*announcer, error)
}

// New makes a Source. It touches no file and starts nothing. An error is
// ErrConfig and names every fault.
func New(cfg Config) (*Source, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	s := &Source{
		cfg:          cfg,
		place:        osPlace{cfg.Path},
		slow:         newIOLimit(cfg.ReadTimeout),
		files:        map[string]*file{},
		told:         told{},
		newAnnouncer: newAnnouncer,
	}
	if cfg.FS != nil {
		s.place = fsPlace{cfg.FS, cfg.Path}
	}
	return s, nil
}

// Scan reads everything once and returns all desired pods, pods in order
// of file name. It is the single step of Run. An error is ErrListing, with the
// snapshot of the last scan, which still holds (or an empty one that says
// nothing, if there has been none), or the context's.
func (s *Source) Scan(ctx context.Context) (source.Snapshot, error) {
	paths, err := s.list(ctx)
	if ctx.Err() != nil {
		return s.last, ctx.Err()
	}
	if err != nil {
		s.tellOnce("listing", Problem{Path: s.cfg.Path, Kept: len(s.last.Pods) > 0, Err: err})
		return s.last, err
	}
	delete(s.told, "listing")
	if err := s.slow.each(ctx, paths, s.read, s.look); err != nil {
		return s.last, err
	}
	s.forget(paths)
	s.last = s.compose()
	return s.last, nil
}

// errVanished is a file that was listed and is not there any more.
var errVanished = errors.New("it has gone since it was listed")

// read is called for several files at once, and may take as long as the system
// likes.
func (s *Source) read(path string) (any, error) {
	data, err := s.place.read(path, MaxFileSize)
	if errors.Is(err, fs.ErrNotExist) && s.place.vanished(path) {
		return nil, errVanished
	}
	return data, err
}

// look takes in what was read of one file.
func (s *Source) look(path string, data any, err error) {
	if errors.Is(err, errVanished) {
		return // The next listing says whether it is gone.
	}
	f := s.files[path]
	if f == nil {
		f = &file{path: path}
		s.files[path] = f
	}
	var p *Problem
	if err != nil {
		p = f.trouble(err)
	} else {
		others := s.memory - f.memory
		p = f.look(data.([]byte), &s.cfg, s.cfg.MaxMemory-others)
		s.memory = others + f.memory
	}
	if p != nil {
		s.tell(*p)
	}
}

// forget lets go of files that a successful listing lacks: only now are they,
// and their pods, gone.
func (s *Source) forget(listed []string) {
	for path := range s.files {
		if _, ok := slices.BinarySearch(listed, path); !ok {
			s.memory -= s.files[path].memory
			delete(s.files, path)
		}
	}
}

// compose makes the snapshot of all files in order of path. Of two pods with
// one name or UID the first stays, whoever was there before, so that a restart
// changes nothing (F8).
func (s *Source) compose() source.Snapshot {
	var snapshot source.Snapshot
	owners, doubles := map[string]string{}, map[string]bool{}
	for _, path := range slices.Sorted(maps.Keys(s.files)) {
		f := s.files[path]
		snapshot.Incomplete = snapshot.Incomplete || f.blind()
		for _, pod := range f.pods {
			if err := own(owners, pod, path); err != nil {
				key := path + "\x00" + string(pod.UID) + err.Error()
				doubles[key] = true
				s.tellOnce(key, Problem{Path: path, Pod: strings.TrimSuffix(pod.Name, "-"+s.cfg.NodeName), Err: err})
				continue
			}
			snapshot.Pods = append(snapshot.Pods, pod)
		}
	}
	for key := range s.told {
		if strings.Contains(key, "\x00") && !doubles[key] {
			delete(s.told, key)
		}
	}
	return snapshot
}

// own gives the pod's name and UID to the file, or says which one has them.
func own(owners map[string]string, pod *v1.Pod, path string) error {
	name, uid := pod.Namespace+"/"+pod.Name, string(pod.UID) // A UID has no slash.
	for _, key := range []string{name, uid} {
		if owner, ok := owners[key]; ok {
			return fmt.Errorf("%w: %s has a pod %s", ErrDuplicate, owner, key)
		}
	}
	owners[name], owners[uid] = path, path
	return nil
}

// told remembers trouble that belongs to no single file, by what it is about.
type told map[string]string

// tellOnce reports a problem unless the last one about the same was the same.
func (s *Source) tellOnce(about string, p Problem) {
	if text := p.Err.Error(); s.told[about] != text {
		s.told[about] = text
		s.tell(p)
	}
}

func (s *Source) tell(p Problem) {
	s.cfg.Log.Warn("Trouble with a manifest", "path", p.Path, "line", p.Line, "pod", p.Pod, "kept", p.Kept, "err", p.Err)
	s.cfg.Report(p)
}
