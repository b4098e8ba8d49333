package cgroups

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/internal/keylock"
	"github.com/podkeel/podkeel/podmanager/podresources"
)

// Errors of the Manager, to be compared by errors.Is.
var (
	// ErrUnavailable means that the State of the host is not Ready.
	ErrUnavailable = errors.New("cgroups: not available on this host")
	// ErrNotFound means that the pod has no cgroup.
	ErrNotFound = errors.New("cgroups: no such cgroup")
	// ErrBusy means that a change is refused now: processes are left in a cgroup that is removed, or more memory is used
	// than a new limit allows. The same call may succeed later.
	ErrBusy = errors.New("cgroups: in use")
	// ErrRejected means that the kernel does not accept a value beside the values of parent and children, for example a
	// CPU quota below the quota of a container.
	ErrRejected = errors.New("cgroups: value rejected")
)

// Config configures a Manager. Zero means default, except for Root and Capabilities.
type Config struct {
	// Root contains the pods of this agent. See RootForOwner.
	Root Root
	// Capabilities are the result of Probe for Root.
	Capabilities Capabilities
	// Files are the files of the host. The default is NewHostFiles("/"). If Files is a ProcessKiller too, Remove uses
	// it.
	Files Files
	// Clock is for the waits of Remove. The default is the real clock.
	Clock clock.WithTicker
	// RemoveAttempts is how often Remove tries to remove a cgroup in use. The default is 8.
	RemoveAttempts int
	// RemoveDelay is the wait after the first attempt. Each later wait is twice as long. The default is 5 ms.
	RemoveDelay time.Duration
}

// checkAndSetDefaults returns an error that names each invalid field. If there is none, it sets the defaults of
// the other fields.
func (c *Config) checkAndSetDefaults() error {
	var faults []string
	if c.Root.name == "" {
		faults = append(faults, "Root is not set: use RootForOwner")
	}
	if c.RemoveAttempts < 0 {
		faults = append(faults, "RemoveAttempts is negative")
	}
	if c.RemoveDelay < 0 {
		faults = append(faults, "RemoveDelay is negative")
	}
	if len(faults) > 0 {
		return fmt.Errorf("cgroups: invalid Config: %s", strings.Join(faults, "; "))
	}
	if c.Files == nil {
		c.Files = NewHostFiles("/")
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.RemoveAttempts == 0 {
		c.RemoveAttempts = 8
	}
	if c.RemoveDelay == 0 {
		c.RemoveDelay = 5 * time.Millisecond
	}
	return nil
}

// Manager creates, sizes, measures and removes the cgroups of pods. It starts no goroutine.
type Manager struct {
	config   Config
	executor executor.Executor
	pods     keylock.Locks[types.UID]
	killer   ProcessKiller // nil: Files is none

	mu struct {
		sync.Mutex
		ensured map[types.UID]ensured
	}
}

// ensured is the last successful Ensure of a pod. It is small, since it exists for each pod.
type ensured struct {
	class      v1.PodQOSClass
	generation int64
}

// New returns a Manager. It reads and writes no file.
func New(config Config) (*Manager, error) {
	if err := config.checkAndSetDefaults(); err != nil {
		return nil, err
	}
	m := &Manager{config: config, executor: executor.Over(config.Clock)}
	m.killer, _ = config.Files.(ProcessKiller)
	m.mu.ensured = map[types.UID]ensured{}
	return m, nil
}

// Capabilities returns the capabilities of the Config.
func (m *Manager) Capabilities() Capabilities { return m.config.Capabilities }

// Ensure creates the cgroup of a pod if it is missing, and writes the values that differ. It returns the directory of
// the cgroup below the mount points, for the runtime (RunSandboxRequest.CgroupDir). The caller calls it at each sync of
// the pod, with a generation that changes whenever values change or are to be checked again. With the generation of the
// last successful call for the pod Ensure reads and writes nothing. Generation 0 is always checked.
//
// A nil error means that the cgroup has all values. After an error some of the values are written, and the next Ensure
// writes the rest. The directory is empty then, except if the only fault is that the pod uses more memory than its new
// limit: the cgroup exists, and keeps its former memory limit. The kernel refuses such a limit on cgroup v1. On cgroup v2
// it would kill processes, so Ensure compares the limit with the working set of the pod. On a host that is not Ready Ensure
// does nothing and returns an empty directory and no error.
func (m *Manager) Ensure(uid types.UID, values podresources.PodValues, generation int64) (dir string, err error) {
	if dir, err = m.config.Root.PodDir(values.QOSClass, uid); err != nil {
		return "", err
	}
	if m.config.Capabilities.State != Ready {
		return "", nil
	}
	defer m.pods.Lock(uid)()
	if last, ok := m.lastEnsured(uid); ok && generation != 0 && last == (ensured{values.QOSClass, generation}) {
		return dir, nil
	}
	m.forgetEnsured(uid)
	want := append(m.parentsOf(values.QOSClass), Group{dir, FromPod(values)})
	if err := m.createAndUpdateGroups(want, dir); err != nil {
		if !isMemoryInUse(err) {
			dir = ""
		}
		return dir, fmt.Errorf("cannot set up the cgroup of pod %s: %w", uid, err)
	}
	m.recordEnsured(uid, ensured{values.QOSClass, generation})
	return dir, nil
}

// QOSValues are the values of the cgroups that contain pods. The cgroup of the BestEffort pods always has
// podresources.MinShares.
type QOSValues struct {
	// Root limits all pods together.
	Root Values
	// Burstable usually has the CPU shares of the requests of all Burstable pods.
	Burstable Values
}

// EnsureQOS creates the cgroups that contain pods if they are missing, and writes the values that differ. The caller
// calls it when the requests of its pods change, and before it changes the limits of the pods. On a host that is not Ready it
// does nothing.
func (m *Manager) EnsureQOS(values QOSValues) error {
	if m.config.Capabilities.State != Ready {
		return nil
	}
	defer m.pods.Lock("")() // No pod has this UID. Two calls must not mix their writes.
	root := m.config.Root
	err := m.createAndUpdateGroups([]Group{
		{root.String(), values.Root},
		{root.classDir(v1.PodQOSBurstable), values.Burstable},
		{root.classDir(v1.PodQOSBestEffort), bestEffortValues()},
	}, "")
	if err != nil {
		return fmt.Errorf("cannot set up the cgroups of the QoS classes: %w", err)
	}
	return nil
}

// bestEffortValues returns the values of the cgroup that contains all BestEffort pods.
func bestEffortValues() Values {
	return Values{CPUShares: podresources.Finite(podresources.MinShares)}
}

// parentsOf returns the cgroups above a pod of a QoS class: the root, and for Burstable and BestEffort the
// cgroup of the class. Only the BestEffort cgroup has values to write, because they do not depend on the pods.
// EnsureQOS writes the values of the Burstable cgroup.
func (m *Manager) parentsOf(class v1.PodQOSClass) []Group {
	groups := []Group{{Dir: m.config.Root.String()}}
	switch class {
	case v1.PodQOSBurstable:
		groups = append(groups, Group{Dir: m.config.Root.classDir(class)})
	case v1.PodQOSBestEffort:
		groups = append(groups, Group{m.config.Root.classDir(class), bestEffortValues()})
	}
	return groups
}

// createAndUpdateGroups creates each of the cgroups that does not exist, and writes the values that differ. It
// removes no cgroup. On cgroup v2 it writes no memory limit of checked that its working set reaches, and returns a
// memoryInUseError for it. checked may be empty.
func (m *Manager) createAndUpdateGroups(want []Group, checked string) error {
	have, err := Read(m.config.Files, m.config.Capabilities, want)
	if err != nil {
		return err
	}
	return makeWrites(m.config.Files, Plan(m.config.Capabilities, want, have), m.memoryLimitCheck(checked))
}

// memoryLimitCheck returns a function that returns a memoryInUseError for the write of a memory limit of a cgroup of v2
// that is not above the working set of the cgroup. It returns nil for other writes, for no limit, and if the working set
// cannot be read. The kernel would accept such a write, and then kill processes of the cgroup. (RZ-43)
func (m *Manager) memoryLimitCheck(dir string) func(Write) error {
	if dir == "" {
		return func(Write) error { return nil }
	}
	file := m.config.Capabilities.filePath(Memory, dir, "", "memory.max")
	return func(w Write) error {
		limit, err := strconv.ParseInt(w.Content, 10, 64)
		if w.Mkdir || file == "" || w.Path != file || err != nil {
			return nil
		}
		var usage Usage
		m.addMemoryUsage(&usage, dir)
		if used, measured := usage.MemoryWorkingSet.Number(); measured && used >= limit && used > 0 {
			return memoryInUseError{fmt.Errorf("%w: cannot write %d to %s: the pod uses more memory", ErrBusy, limit, w.Path)}
		}
		return nil
	}
}

// makeWrites makes the writes in order. If a directory cannot be created, it stops. If a value cannot be
// written, or if check returns an error for its write, it leaves out the later writes to files of the same controller
// and makes the others, so that a memory limit below the usage does not hold up the limit of processes.
func makeWrites(files Files, writes []Write, check func(Write) error) error {
	var faults []error
	failed := map[string]bool{}
	for _, w := range writes {
		if w.Mkdir {
			if err := files.Mkdir(w.Path); err != nil && !errors.Is(err, fs.ErrExist) {
				return errors.Join(append(faults, err)...)
			}
			continue
		}
		controller, _, _ := strings.Cut(path.Base(w.Path), ".")
		if failed[controller] {
			continue
		}
		err := check(w)
		if err == nil {
			if err = files.WriteFile(w.Path, []byte(w.Content)); err != nil {
				err = explainWriteError(w, err)
			}
		}
		if err != nil {
			failed[controller] = true
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// memoryInUseError is the error of a memory limit that is less than the memory in use. It wraps ErrBusy.
type memoryInUseError struct{ error }

// Unwrap returns the error with all details.
func (e memoryInUseError) Unwrap() error { return e.error }

// isMemoryInUse reports whether an error of makeWrites has only faults that are memoryInUseErrors.
func isMemoryInUse(err error) bool {
	faults, ok := err.(interface{ Unwrap() []error })
	return ok && !slices.ContainsFunc(faults.Unwrap(), func(fault error) bool { return !errors.As(fault, new(memoryInUseError)) })
}

// explainWriteError adds the file, the value and one of the errors of this package to the error of a write.
func explainWriteError(w Write, err error) error {
	switch {
	case errors.Is(err, syscall.EBUSY) && path.Base(w.Path) == "memory.limit_in_bytes":
		return memoryInUseError{fmt.Errorf("%w: cannot write %s to %s: %w", ErrBusy, w.Content, w.Path, err)}
	case errors.Is(err, syscall.EBUSY):
		return fmt.Errorf("%w: cannot write %s to %s: %w", ErrBusy, w.Content, w.Path, err)
	case errors.Is(err, syscall.EINVAL):
		return fmt.Errorf("%w: cannot write %s to %s: %w", ErrRejected, w.Content, w.Path, err)
	}
	return fmt.Errorf("cannot write %s to %s: %w", w.Content, w.Path, err)
}

// lastEnsured returns the last successful Ensure of a pod.
func (m *Manager) lastEnsured(uid types.UID) (last ensured, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last, ok = m.mu.ensured[uid]
	return last, ok
}

// recordEnsured stores the last successful Ensure of a pod.
func (m *Manager) recordEnsured(uid types.UID, last ensured) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.ensured[uid] = last
}

// forgetEnsured deletes what the manager has stored about the cgroup of a pod. The next Ensure of the pod
// therefore reads the files of that cgroup again.
func (m *Manager) forgetEnsured(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.mu.ensured, uid)
}
