package manifest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
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

// Source is a source of static pods that reads a directory of manifests, or one file. Scan reads once; Run reads
// repeatedly. A second call of either must not run at the same time.
type Source struct {
	cfg  Config
	tree fileTree
	io   *ioLimit
	kind pathKind // what the path was in the first listing

	files   map[string]*manifestFile // by path
	memory  int64                    // used by the pods of all files
	last    source.Snapshot
	faults  *activeFaults
	listed  []string
	scanned bool // a scan has succeeded
	saving  saveProgress

	lastDebounce time.Time // when the last debounce finished; zero is never
	fullScanDue  time.Time // when Run scans all files at the latest

	newDirWatcher func() (*dirWatcher, error)
}

// New returns a Source. It accesses no file and starts nothing. An error wraps ErrConfig and names every fault.
func New(cfg Config) (*Source, error) {
	if err := cfg.setDefaultsAndCheck(); err != nil {
		return nil, err
	}
	s := &Source{
		cfg:           cfg,
		tree:          osTree{cfg.Path},
		io:            newIOLimit(cfg.ReadTimeout),
		files:         map[string]*manifestFile{},
		faults:        newActiveFaults(cfg.Report, cfg.Resolved, cfg.Log, cfg.Clock.Now),
		newDirWatcher: newDirWatcher,
	}
	if cfg.FS != nil {
		s.tree = fsTree{cfg.FS, cfg.Path}
	}
	return s, nil
}

var (
	_ source.FaultReporter = (*Source)(nil)
	_ source.PodLocator    = (*Source)(nil)
)

// Locate implements source.PodLocator.
func (s *Source) Locate(uid types.UID) (path string, found bool) { return s.faults.filePathOfPod(uid) }

// Faults implements source.FaultReporter.
func (s *Source) Faults() source.Faults { return s.faults.countAndFirstSortedFaults() }

// FaultOf implements source.FaultReporter.
func (s *Source) FaultOf(uid types.UID) (source.Fault, bool) { return s.faults.faultOfPod(uid) }

// Scan reads everything once and returns all desired pods, in order of file name. It is the single step of Run. If the
// listing fails, the error is ErrListing, and the result is the snapshot of the last scan, which stays valid. Before
// the first success that snapshot is empty. If ctx is done, the error is ctx.Err().
func (s *Source) Scan(ctx context.Context) (source.Snapshot, error) {
	return s.scanChangedFiles(ctx, changedFiles{all: true})
}

// scanChangedFiles is Scan, but it reads only the changed files, and the files whose state depends on more than their
// content. It lists the whole directory. If no other file has changed, the result is the same as the result of Scan.
func (s *Source) scanChangedFiles(ctx context.Context, changed changedFiles) (source.Snapshot, error) {
	listed, err := s.listFilesAndStoreKind(ctx)
	if ctx.Err() != nil {
		return s.last, ctx.Err()
	}
	if err != nil {
		s.faults.storeAndReportIfNew(listingFault, Problem{Path: s.cfg.Path, Kept: len(s.last.Pods) > 0, Err: err}, s.last.Pods)
		return s.last, err
	}
	s.faults.resolveIfActive(listingFault)
	paths := changed.selectPaths(listed, func(path string) bool { return s.files[path].needsRead(s.cfg.StateDir != "") })
	startedBefore := s.io.pendingKeys()
	update := func(path string, value any, err error) {
		read, _ := value.(fileContent) // An error may come without a value.
		s.updateFileAndFaults(path, read.text, err)
		if f := s.files[path]; f != nil {
			f.readNext = read.isLink || startedBefore[path] || errors.Is(err, errFileMissing)
		}
	}
	if err := s.io.runEach(ctx, paths, s.readFile, update); err != nil {
		return s.last, err
	}
	s.listed, s.scanned = listed, true
	s.forgetUnlistedFiles(listed)
	s.last = s.buildSnapshotAndReportDuplicates()
	return s.last, nil
}

// errFileMissing means that a listed file no longer exists.
var errFileMissing = errors.New("it has gone since it was listed")

// readFile returns the fileContent of a file, or errFileMissing if no file exists at the path. Several
// calls run concurrently, and a call may block as long as the system does.
func (s *Source) readFile(path string) (any, error) {
	content, err := s.tree.readFile(path, MaxFileSize)
	if errors.Is(err, fs.ErrNotExist) && s.tree.isMissing(path) {
		return fileContent{}, errFileMissing
	}
	return content, err
}

// updateFileAndFaults updates a file and its faults from the result of reading it. It adds an unknown file. If
// a new file has a problem, it first loads the version that an earlier process has saved. errFileMissing
// changes no known file, because the next listing decides whether the file was removed.
func (s *Source) updateFileAndFaults(path string, data []byte, err error) {
	f := s.files[path]
	first := f == nil
	if errors.Is(err, errFileMissing) {
		if first && !s.scanned {
			s.addMissingFile(path)
		}
		return
	}
	if first {
		f = &manifestFile{path: path, legacyUIDs: s.hasSavedLegacyUIDs(path, data)}
		s.files[path] = f
	}
	p := s.updateFile(f, data, err)
	if (first && p != nil || f.state == stateLost) && s.replaceWithSavedVersion(f) {
		p = s.updateFile(f, data, err)
	}
	s.faults.storeAndReportFileFaults(f, p)
}

// addMissingFile adds a file of the first listing that was missing when it was read, because its pods may run.
// It loads the version that an earlier process has saved. Without one, the pods of the file are unknown. The
// next listing decides whether the file was removed. After the first scan a new file has no running pods.
func (s *Source) addMissingFile(path string) {
	f := &manifestFile{path: path, state: stateBroken}
	s.files[path] = f
	s.replaceWithSavedVersion(f)
}

// updateFile updates f from its content data, or from the error of the read, and returns the problem to report,
// or nil. It also updates s.memory, and keeps the text of a good version in memory until it is saved.
func (s *Source) updateFile(f *manifestFile, data []byte, err error) (p *Problem) {
	if err != nil {
		return f.setReadError(err)
	}
	others := s.memory - f.memory
	p = f.parseIfChanged(data, &s.cfg, s.cfg.MaxMemory-others)
	s.memory = others + f.memory
	s.keepTextUntilSaved(f, data)
	return p
}

// forgetUnlistedFiles forgets each file that a successful listing does not contain, with its pods, and resolves
// its faults. It deletes nothing on disk, but it lets the next save delete the saved versions of such files.
func (s *Source) forgetUnlistedFiles(listed []string) {
	for path := range s.files {
		if _, ok := slices.BinarySearch(listed, path); !ok {
			s.memory -= s.files[path].memory
			s.dropKeptText(s.files[path])
			delete(s.files, path)
			s.faults.resolveIfActive(invalidFileFaultKey(path))
			s.faults.resolveIfActive(fileSaveFaultKey(path))
			s.faults.resolveIfActive(ignoredNameFaultKey(path))
			s.faults.resolveIfActive(ignoredFieldsFaultKey(path))
			s.saving.staleRemoved = false
		}
	}
}

// buildSnapshotAndReportDuplicates returns the pods of all files in order of path. If two pods have the same
// name or UID, it uses the pod with the first path and reports the other one as a fault. The order of path
// decides even if the other pod ran before, so that a restart gives the same result (F8). If the pods of a file
// are unknown, the snapshot is incomplete.
func (s *Source) buildSnapshotAndReportDuplicates() source.Snapshot {
	size := len(s.last.Pods)
	snapshot := source.Snapshot{Pods: slices.Grow([]*v1.Pod(nil), size)}
	owners, duplicates, paths := make(map[string]podOwner, 2*size), map[faultKey]bool{}, make(map[types.UID]string, size)
	for _, path := range s.sortPathsAndReportIgnoredNames() {
		f := s.files[path]
		snapshot.Incomplete = snapshot.Incomplete || f.lacksGoodVersion()
		for _, pod := range f.pods {
			if first, err := addPodUnlessNameOrUIDTaken(owners, pod, path); err != nil {
				what := duplicatePodFaultKey(path, string(pod.UID)+err.Error())
				duplicates[what] = true
				s.faults.storeAndReportIfNew(what, Problem{Path: path, Pod: strings.TrimSuffix(pod.Name, "-"+s.cfg.NodeName), Err: err}, []*v1.Pod{first})
				continue
			}
			snapshot.Pods = append(snapshot.Pods, pod)
			paths[pod.UID] = path
		}
	}
	s.faults.setPodPaths(paths)
	s.faults.resolveOthersOfKind("pod", duplicates)
	return snapshot
}

// sortPathsAndReportIgnoredNames returns the paths of all known files of the last listing, sorted. Paths of files with
// an ignored name, which an earlier version has read, are last, so that their pods do not replace other pods. It
// reports each of them as a fault.
func (s *Source) sortPathsAndReportIgnoredNames() []string {
	var last []string
	paths := slices.DeleteFunc(slices.Clone(s.listed), func(path string) bool {
		if s.files[path] == nil {
			return true // It was missing when it was read.
		}
		if s.kind != directoryPath || !isIgnoredName(filepath.Base(path)) {
			return false
		}
		last = append(last, path)
		s.faults.storeAndReportIfNew(ignoredNameFaultKey(path), Problem{Path: path, Kept: true, Err: errEditorFileName}, s.files[path].pods)
		return true
	})
	return append(paths, last...)
}

// podOwner is a pod and the file that it comes from.
type podOwner struct {
	path string
	pod  *v1.Pod
}

// addPodUnlessNameOrUIDTaken stores a pod by its name and its UID, and returns nil and nil. If another pod has
// the same name or the same UID, it stores nothing, and returns that pod and an error that names that pod's
// file.
func addPodUnlessNameOrUIDTaken(podsByNameAndUID map[string]podOwner, pod *v1.Pod, path string) (first *v1.Pod, err error) {
	name, uid := pod.Namespace+"/"+pod.Name, string(pod.UID) // A UID has no slash.
	for _, key := range []string{name, uid} {
		if o, ok := podsByNameAndUID[key]; ok {
			return o.pod, fmt.Errorf("%w: %s has a pod %s", ErrDuplicate, o.path, key)
		}
	}
	podsByNameAndUID[name], podsByNameAndUID[uid] = podOwner{path, pod}, podOwner{path, pod}
	return nil, nil
}

// ErrConfig is wrapped by the error about a bad Config.
var ErrConfig = errors.New("manifest: bad config")

// Config says where the manifests are and which node runs their pods.
type Config struct {
	// Path is a directory, whose files are all manifests, or one file. It is made absolute, and is part of the identity
	// of the pods. A symbolic link is followed.
	Path string
	// FS, if not nil, is read instead of the operating system's files. Path is then a path in it ("." is all of it). It
	// is polled and not watched.
	FS fs.FS
	// NodeName is converted to lower case and appended to the names of the pods.
	NodeName string
	// Objects says that the node can find ConfigMaps and Secrets without an API server, so that static pods may refer
	// to them. Otherwise such a reference is a fault of the file.
	Objects bool
	// Strict makes unknown and duplicate fields faults. Without it they are ignored, as in the kubelet, and of
	// duplicate fields the last one is used. Each file with ignored fields has a problem, ErrIgnored. A field of a
	// newer version of the API is always a fault.
	Strict bool
	// Period is how often everything is read again, also without reported changes. 0 is 20 seconds, as in the kubelet.
	Period time.Duration
	// ReadTimeout bounds one read of one file, or of the directory. 0 is 5 seconds. A file that takes longer counts as
	// unreadable until its read returns. It does not delay the other files.
	ReadTimeout time.Duration
	// MaxFiles bounds how many names of all kinds a directory may have. A directory with more cannot be listed, so the
	// pods stay as they were. 0 is 10,000.
	MaxFiles int
	// MaxMemory bounds the memory of the pods of all files, in bytes. A file whose pods exceed the rest is a bad file
	// until there is room. 0 is 256 MiB.
	MaxMemory int64
	// Clock is used for the period and the pauses. nil is the real clock. Timeouts of reads always use the real clock.
	Clock clock.Clock
	// Log receives messages about problems. nil discards them.
	Log *slog.Logger
	// Report, if not nil, is called with every problem, once for each file and content. The goroutine of Scan or Run
	// calls it, one call at a time. It must not block.
	Report func(Problem)
	// Resolved, if not nil, is called like Report with each fault of Faults that no longer exists: its file is good
	// again or was removed, or the directory can be listed.
	Resolved func(source.Fault)
	// StateDir is a directory in which Run saves the last good version of each file for the next process, as files
	// manifest-file-*.json. It is created if it is missing. The files contain what the manifests contain, and only
	// their owner can read them. Two sources that run at once need different directories. Scan only reads it. Empty:
	// nothing is saved, and the pods of a file that is faulty at the start of the process are unknown.
	StateDir string
}

// setDefaultsAndCheck sets the defaults, makes the path absolute and the node name lower case, and returns one
// error with all faults of the configuration.
func (c *Config) setDefaultsAndCheck() error {
	done := contain.CheckConfigAs(ErrConfig)
	lowerAndCheckNodeName(done, &c.NodeName)
	if err := c.normalizeAndCheckPath(); err != nil {
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

// lowerAndCheckNodeName converts the name to lower case, and adds a fault to done if the name is empty or not a
// DNS name.
func lowerAndCheckNodeName(done *contain.ConfigCheck, name *string) {
	*name = strings.ToLower(*name)
	done.FaultIf(*name == "", "NodeName is empty")
	done.FaultIf(*name != "" && len(k8svalidation.IsDNS1123Subdomain(*name)) > 0,
		fmt.Sprintf("NodeName %s: expected at most 253 lower case letters, digits, '-' and '.', with a letter or digit at both ends of each part", plain.Quote(*name)))
}

// normalizeAndCheckPath makes Path absolute. With FS it cleans Path and checks that it is valid in an fs.FS. An
// empty Path is an error.
func (c *Config) normalizeAndCheckPath() error {
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
