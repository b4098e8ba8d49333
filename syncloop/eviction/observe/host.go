package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/syncloop/eviction"
)

// HostConfig configures a Host. NodeDirectory is required.
type HostConfig struct {
	// NodeDirectory is a directory on the file system with volumes and logs.
	NodeDirectory string
	// ImageDirectory returns a directory on the file system with images, and an empty text while it is not known. Nil
	// and unknown: images share the file system of NodeDirectory. After an error the signals of the image file system
	// are not measured, because their thresholds could be met by another file system. It is called in each pass until
	// it has returned a directory.
	ImageDirectory func(ctx context.Context) (string, error)
	// Proc is the directory of procfs. Empty is /proc.
	Proc string
	// Clock is the clock of the times of measurements; nil is the real one.
	Clock clock.PassiveClock
}

// Host measures the signals of a machine. Its methods may be called concurrently.
type Host struct {
	config HostConfig
	mu     struct {
		sync.Mutex
		imageDirectory string
	}
}

// NewHost returns a Host. It reads nothing.
func NewHost(config HostConfig) *Host {
	config.Proc = cmp.Or(config.Proc, "/proc")
	config.Clock = cmp.Or[clock.PassiveClock](config.Clock, clock.RealClock{})
	return &Host{config: config}
}

// ReadSignals implements evictor.SignalReader.
func (h *Host) ReadSignals(ctx context.Context) (eviction.Observations, error) {
	o := eviction.Observations{Signals: map[eviction.Signal]eviction.Observation{}}
	now := h.config.Clock.Now()
	add := func(s eviction.Signal, available, capacity int64) {
		o.Signals[s] = eviction.Observation{Available: available, Capacity: capacity, Time: now}
	}
	var faults []error
	if available, capacity, err := h.readMemory(); err != nil {
		faults = append(faults, err)
	} else {
		add(eviction.MemoryAvailable, available, capacity)
	}
	if available, capacity, err := h.readPIDs(); err != nil {
		faults = append(faults, err)
	} else {
		add(eviction.PIDAvailable, available, capacity)
	}
	imageDirectory, imageErr := h.findImageDirectory(ctx)
	faults = append(faults, imageErr)
	nodeDisk, err := readDisk(h.config.NodeDirectory)
	if err != nil {
		return o, errors.Join(append(faults, err)...)
	}
	add(eviction.NodeFsAvailable, nodeDisk.free, nodeDisk.capacity)
	add(eviction.NodeFsInodesFree, nodeDisk.freeInodes, nodeDisk.inodes)
	if imageErr != nil {
		return o, errors.Join(faults...)
	}
	imageDisk := nodeDisk
	if imageDirectory != "" {
		if imageDisk, err = readDisk(imageDirectory); err != nil {
			return o, errors.Join(append(faults, err)...)
		}
	}
	if imageDisk.device != nodeDisk.device {
		o.Layout = eviction.DedicatedImages
	}
	add(eviction.ImageFsAvailable, imageDisk.free, imageDisk.capacity)
	add(eviction.ImageFsInodesFree, imageDisk.freeInodes, imageDisk.inodes)
	return o, errors.Join(faults...)
}

// findImageDirectory returns the directory of images. It stores the directory, so that later calls need not ask
// the runtime. It returns "" if the directory is not known, and an error if Config.ImageDirectory fails.
func (h *Host) findImageDirectory(ctx context.Context) (string, error) {
	h.mu.Lock()
	known := h.mu.imageDirectory
	h.mu.Unlock()
	if known != "" || h.config.ImageDirectory == nil {
		return known, nil
	}
	found, err := h.config.ImageDirectory(ctx)
	if err != nil {
		return "", fmt.Errorf("observe: the directory of images: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.imageDirectory = found
	return found, nil
}

// readMemory returns the available memory and the capacity of the machine, in bytes. Available is the free memory and
// the inactive file cache. Both leave out huge pages, as these are neither free nor cache.
func (h *Host) readMemory() (available, capacity int64, err error) {
	name := filepath.Join(h.config.Proc, "meminfo")
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, 0, fmt.Errorf("observe: %w", err)
	}
	values := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		if n, err := strconv.ParseInt(words[1], 10, 64); err == nil && n >= 0 && n <= math.MaxInt64>>10 {
			values[strings.TrimSuffix(words[0], ":")] = n << 10
		}
	}
	total, hasTotal := values["MemTotal"]
	free, hasFree := values["MemFree"]
	cache, hasCache := values["Inactive(file)"]
	if !hasTotal || !hasFree || !hasCache {
		return 0, 0, fmt.Errorf("observe: %s lacks MemTotal, MemFree or Inactive(file)", name)
	}
	return min(free+cache, total), total, nil
}

// readPIDs returns how many processes and threads can still start on the machine, and how many can exist. It
// returns an error if a file of procfs cannot be read or has no number.
func (h *Host) readPIDs() (available, capacity int64, err error) {
	pidMax, err := h.readNumber("sys/kernel/pid_max")
	if err != nil {
		return 0, 0, err
	}
	threadsMax, err := h.readNumber("sys/kernel/threads-max")
	if err != nil {
		return 0, 0, err
	}
	name := filepath.Join(h.config.Proc, "loadavg")
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, 0, fmt.Errorf("observe: %w", err)
	}
	words := strings.Fields(string(text))
	if len(words) < 4 {
		return 0, 0, fmt.Errorf("observe: %s has %d fields instead of 5", name, len(words))
	}
	_, count, _ := strings.Cut(words[3], "/")
	running, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("observe: %s has no number of processes in %q", name, words[3])
	}
	capacity = min(pidMax, threadsMax)
	return max(0, capacity-running), capacity, nil
}

// readNumber reads a file below procfs that contains one number. It returns an error if the file cannot be
// read, has no number, or has a negative one.
func (h *Host) readNumber(path string) (int64, error) {
	name := filepath.Join(h.config.Proc, path)
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, fmt.Errorf("observe: %w", err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("observe: %s has no number", name)
	}
	return n, nil
}

// disk is the usage of a file system. Without a limit of inodes both numbers of inodes are the largest int64.
type disk struct {
	device             uint64
	free, capacity     int64 // bytes; free is for users other than root
	freeInodes, inodes int64
}
