package statedir

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/podmanager/checkpoint"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/eviction/observe"
	"github.com/podkeel/podkeel/syncloop/node"
)

// ErrLocked is returned by Open if another process has locked the directory.
var ErrLocked = osfile.ErrLocked

// Config configures a Dir. Root is required.
type Config struct {
	// Root is the state directory. Open creates it, with the directories above it, if it is missing. Only the program
	// may write to it.
	Root string
	// SecretsInMemory mounts a tmpfs for each volume with secrets: see volumes.Config. It needs Linux and root.
	SecretsInMemory bool
	// Log receives an error for each file that cannot be read. Nil discards them.
	Log *slog.Logger
}

// Dir is a locked state directory. Its methods are called by one goroutine; the stores that it returns may be used by
// any.
type Dir struct {
	config Config // Root is an absolute path.
	lock   *os.File
}

// Open creates and locks a state directory. It changes nothing in a directory that another process has locked, and
// returns an error that wraps ErrLocked. The caller calls Close when the node has stopped.
func Open(config Config) (*Dir, error) {
	root, err := filepath.Abs(config.Root)
	if config.Root == "" {
		err = errors.New("Config.Root is empty")
	}
	if err == nil {
		err = osfile.MkdirAll(root, 0o750)
	}
	if err != nil {
		return nil, fmt.Errorf("statedir: cannot create the state directory: %w", err)
	}
	config.Root = root
	lock, err := osfile.LockDir(root)
	if err != nil {
		return nil, fmt.Errorf("statedir: cannot lock %s: %w", root, err)
	}
	return &Dir{config: config, lock: lock}, nil
}

// Close unlocks the directory. A later call does nothing.
func (d *Dir) Close() error {
	if err := d.lock.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// Root returns the absolute path of the directory.
func (d *Dir) Root() string { return d.config.Root }

// Path returns the absolute path of a file or directory in the state directory. It creates nothing.
func (d *Dir) Path(name string) string { return filepath.Join(d.config.Root, name) }

// Pods opens the store of the pods that only the host program knows, and reads the pods that an earlier process has
// saved. A host program whose pods come from files or from an API server does not need it.
func (d *Dir) Pods() (*checkpoint.Pods, error) { return checkpoint.NewPods(d.storeConfig("desired")) }

// Configure opens the stores of the node, reads what an earlier process has left, and sets them in c.Pods and c.Volumes.
// It leaves a c.Volumes.Manager and its Files that are set already. Volumes in memory and the files of the downward API
// depend on c.Allocatable(), and c.Volumes.Objects, Tokens and Claims are passed to the volumes. So the caller sets
// c.Scheduling, c.Eviction and the other fields of c.Volumes before. After an error c may have some of the stores.
func (d *Dir) Configure(c *node.Config) error {
	terminal, err := checkpoint.New(d.storeConfig("ended"))
	if err != nil {
		return err
	}
	containers, err := checkpoint.NewContainers(d.storeConfig("containers"))
	if err != nil {
		return err
	}
	resources, err := checkpoint.NewResources(d.storeConfig("resources"))
	if err != nil {
		return err
	}
	c.Pods.TerminalStatuses, c.Pods.ContainerStates, c.Pods.AllocatedResources = terminal, containers, resources
	if c.Volumes.Manager != nil {
		return nil
	}
	v, err := volumes.New(volumes.Config{
		Root: d.config.Root, SecretsInMemory: d.config.SecretsInMemory, Allocatable: c.Allocatable(),
		Objects: c.Volumes.Objects, Tokens: c.Volumes.Tokens, Claims: c.Volumes.Claims,
	})
	if err != nil {
		return err
	}
	c.Volumes.Manager, c.Volumes.Files = v, v
	return nil
}

// ConfigureEviction sets c.Eviction: the node measures this machine, the volumes in the state directory, and the logs in
// c.Logs.Root, and has the kubelet's default thresholds. images returns the directory of the images; nil: the images share
// the file system of the state directory. Only Linux reports the signals.
func (d *Dir) ConfigureEviction(c *node.Config, images runtime.ImageFilesystem) error {
	thresholds, err := eviction.Settings{Hard: eviction.DefaultHard()}.Thresholds()
	if err != nil {
		return err
	}
	host := observe.HostConfig{NodeDirectory: d.config.Root, Clock: c.Clock}
	if images != nil {
		host.ImageDirectory = func(ctx context.Context) (string, error) {
			usage, err := images.ImageFilesystem(ctx)
			return usage.Directory, err
		}
	}
	files := observe.FilesConfig{VolumeDirectory: observe.VolumeDirectory(d.config.Root), Clock: c.Clock}
	if c.Logs.Root != "" {
		files.LogDirectory = observe.LogDirectory(c.Logs.Root)
	}
	c.Eviction = node.EvictionConfig{Signals: observe.NewHost(host), Policy: eviction.Policy{Thresholds: thresholds}, Storage: observe.NewFiles(files)}
	return nil
}

// storeConfig returns the configuration of a store in a directory of the state directory.
func (d *Dir) storeConfig(name string) checkpoint.Config {
	return checkpoint.Config{Root: d.Path(name), Log: d.config.Log}
}
