package manifest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	k8svalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/plain"
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
	faults *standing
	listed []string
	keep   keeping

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
		faults:       newStanding(cfg.Report, cfg.Resolved, cfg.Log, cfg.Clock.Now),
		newAnnouncer: newAnnouncer,
	}
	if cfg.FS != nil {
		s.place = fsPlace{cfg.FS, cfg.Path}
	}
	return s, nil
}

var (
	_ source.FaultReporter = (*Source)(nil)
	_ source.PodLocator    = (*Source)(nil)
)

// Locate implements source.PodLocator.
func (s *Source) Locate(uid types.UID) (path string, found bool) { return s.faults.pathOf(uid) }

// Faults implements source.FaultReporter.
func (s *Source) Faults() source.Faults { return s.faults.faults() }

// FaultOf implements source.FaultReporter.
func (s *Source) FaultOf(uid types.UID) (source.Fault, bool) { return s.faults.of(uid) }

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
		s.faults.tellOnce(aboutListing, Problem{Path: s.cfg.Path, Kept: len(s.last.Pods) > 0, Err: err}, s.last.Pods)
		return s.last, err
	}
	s.faults.end(aboutListing)
	if err := s.slow.each(ctx, paths, s.read, s.look); err != nil {
		return s.last, err
	}
	s.listed = paths
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
	first := f == nil
	if first {
		f = &file{path: path, formerUIDs: s.hasFormerUIDs(path, data)}
		s.files[path] = f
	}
	p := s.takeIn(f, data, err)
	if (first && p != nil || f.state == lost) && s.recall(f) {
		p = s.takeIn(f, data, err)
	}
	s.faults.see(f, p)
}

// takeIn takes in what was read, and returns what people should be told.
func (s *Source) takeIn(f *file, data any, err error) (p *Problem) {
	if err != nil {
		return f.trouble(err)
	}
	others := s.memory - f.memory
	p = f.look(data.([]byte), &s.cfg, s.cfg.MaxMemory-others)
	s.memory = others + f.memory
	s.hold(f, data.([]byte))
	return p
}

// forget lets go of files that a successful listing lacks: only now are they,
// and their pods, gone.
func (s *Source) forget(listed []string) {
	for path := range s.files {
		if _, ok := slices.BinarySearch(listed, path); !ok {
			s.memory -= s.files[path].memory
			s.release(s.files[path])
			delete(s.files, path)
			s.faults.end(aboutFile(path))
			s.faults.end(aboutKept(path))
			s.faults.end(aboutName(path))
			s.faults.end(aboutIgnored(path))
			s.keep.swept = false
		}
	}
}

// compose makes the snapshot of all files in order of path. Of two pods with
// one name or UID the first stays, whoever was there before, so that a restart
// changes nothing (F8).
func (s *Source) compose() source.Snapshot {
	var snapshot source.Snapshot
	owners, doubles, paths := map[string]owner{}, map[about]bool{}, map[types.UID]string{}
	for _, path := range s.filesInOrder() {
		f := s.files[path]
		snapshot.Incomplete = snapshot.Incomplete || f.blind()
		for _, pod := range f.pods {
			if first, err := own(owners, pod, path); err != nil {
				what := aboutPod(path, string(pod.UID)+err.Error())
				doubles[what] = true
				s.faults.tellOnce(what, Problem{Path: path, Pod: strings.TrimSuffix(pod.Name, "-"+s.cfg.NodeName), Err: err}, []*v1.Pod{first})
				continue
			}
			snapshot.Pods = append(snapshot.Pods, pod)
			paths[pod.UID] = path
		}
	}
	s.faults.setPaths(paths)
	s.faults.endOthers("pod", doubles)
	return snapshot
}

// filesInOrder returns the paths of all files. Files that are read although their names are ignored
// come last, so that none of them takes the place of a manifest. Each of them is a fault.
func (s *Source) filesInOrder() []string {
	var last []string
	paths := slices.DeleteFunc(slices.Sorted(maps.Keys(s.files)), func(path string) bool {
		if s.kind != directory || !ignored(filepath.Base(path)) {
			return false
		}
		last = append(last, path)
		s.faults.tellOnce(aboutName(path), Problem{Path: path, Kept: true, Err: errEditorsName}, s.files[path].pods)
		return true
	})
	return append(paths, last...)
}

// owner is the file that has a name or UID, and its pod.
type owner struct {
	path string
	pod  *v1.Pod
}

// own gives the pod's name and UID to the file, or says which pod of which file has them.
func own(owners map[string]owner, pod *v1.Pod, path string) (first *v1.Pod, err error) {
	name, uid := pod.Namespace+"/"+pod.Name, string(pod.UID) // A UID has no slash.
	for _, key := range []string{name, uid} {
		if o, ok := owners[key]; ok {
			return o.pod, fmt.Errorf("%w: %s has a pod %s", ErrDuplicate, o.path, key)
		}
	}
	owners[name], owners[uid] = owner{path, pod}, owner{path, pod}
	return nil, nil
}

// ErrConfig is what every fault of a Config is.
var ErrConfig = errors.New("manifest: bad config")

// Config says where the manifests are and whose pods they are.
type Config struct {
	// Path is a directory, whose files are all manifests, or one file. It is
	// made absolute, and is part of the identity of the pods. If it is a
	// symbolic link it is followed.
	Path string
	// FS, if not nil, is read instead of the operating system's files; Path
	// is then a path in it (".": all of it). It is not watched, only polled.
	FS fs.FS
	// NodeName is made lower case and appended to the names of the pods.
	NodeName string
	// Objects says that the node can find ConfigMaps and Secrets without an API
	// server, so that static pods may refer to them. Otherwise one that does is
	// a fault of its file.
	Objects bool
	// Strict makes faults of unknown fields and of fields that an object has twice. Without it they
	// are ignored, as in the kubelet, and of duplicate fields the last counts. Each such file is a
	// problem, ErrIgnored, for as long as it is so. A field that a newer version of the API has is a
	// fault in any case.
	Strict bool
	// Period is how often everything is read again, changes announced or not.
	// 0 is 20 seconds, as in the kubelet.
	Period time.Duration
	// ReadTimeout bounds one read of one file, or of the directory. 0 is 5
	// seconds. A file that takes longer counts as unreadable until its read
	// returns; the others are not held up.
	ReadTimeout time.Duration
	// MaxFiles bounds how many names a directory may have, of all kinds. One
	// with more cannot be listed, so nothing changes. 0 is 10,000.
	MaxFiles int
	// MaxMemory bounds what the pods of all files take together, in bytes. A file
	// for which there is no room is a bad one, until there is. 0 is 256 MiB.
	MaxMemory int64
	// Clock is for the period and the pauses. nil is the real one. The
	// system's reads are timed by the real one always.
	Clock clock.Clock
	// Log takes what people should know. nil discards.
	Log *slog.Logger
	// Report, if not nil, is called with every problem, once for each file
	// and content, by the goroutine in Scan or Run, one call at a time. It must
	// not block.
	Report func(Problem)
	// Resolved, if not nil, is called like Report with each fault that Faults has had and
	// that is over: its file is good again or gone, or the directory can be listed.
	Resolved func(source.Fault)
	// StateDir is a directory in which the last good version of each file is kept for the next
	// process, as files manifest-file-*.json; it is made if it is missing. They have what the
	// manifests have: only their owner can read them. Of two sources that run at once each has
	// its own. Run keeps; Scan only reads. Empty: nothing is kept, and of a file that is
	// faulty when the process begins no pods are known.
	StateDir string
}

// complete fills in the defaults and names every fault.
func (c *Config) complete() error {
	done := contain.CheckConfigAs(ErrConfig)
	completeNodeName(done, &c.NodeName)
	if err := c.completePath(); err != nil {
		done.FaultIf(true, err.Error())
	}
	contain.DefaultNumber(done, "Period", &c.Period, 20*time.Second)
	contain.DefaultNumber(done, "ReadTimeout", &c.ReadTimeout, 5*time.Second)
	contain.DefaultNumber(done, "MaxFiles", &c.MaxFiles, 10_000)
	contain.DefaultNumber(done, "MaxMemory", &c.MaxMemory, 256<<20)
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	contain.SetDefault(&c.Report, func(Problem) {})
	contain.SetDefault(&c.Resolved, func(source.Fault) {})
	return done.Err()
}

// completeNodeName makes the name lower case.
func completeNodeName(done *contain.ConfigCheck, name *string) {
	*name = strings.ToLower(*name)
	done.FaultIf(*name == "", "NodeName is empty")
	done.FaultIf(*name != "" && len(k8svalidation.IsDNS1123Subdomain(*name)) > 0,
		fmt.Sprintf("NodeName %s: expected at most 253 lower case letters, digits, '-' and '.', with a letter or digit at both ends of each part", plain.Quote(*name)))
}

func (c *Config) completePath() error {
	if c.Path == "" {
		return errors.New("Path is empty")
	}
	if c.FS != nil {
		c.Path = path.Clean(filepath.ToSlash(c.Path))
		if !fs.ValidPath(c.Path) {
			return fmt.Errorf("Path %s is not a path in an fs.FS", plain.Quote(c.Path))
		}
		return nil
	}
	abs, err := filepath.Abs(c.Path)
	if err != nil {
		return fmt.Errorf("Path: %w", err)
	}
	c.Path = abs
	return nil
}
