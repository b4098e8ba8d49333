package command

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/eviction/observe"
	"github.com/podkeel/podkeel/syncloop/node"
)

// Eviction holds the flags for evictions, which are the kubelet's. The node evicts no pod by itself unless
// --eviction-hard or --eviction-soft is set.
type Eviction struct {
	settings eviction.Settings
	policy   eviction.Policy
}

// defaultThresholds is the value of --eviction-hard for the kubelet's default thresholds.
const defaultThresholds = "default"

// SetHard sets the flag --eviction-hard. With an empty text only limits of local storage are enforced.
func (e *Eviction) SetHard(text string) (err error) {
	if text == defaultThresholds {
		e.settings.Hard = eviction.DefaultHard()
		return nil
	}
	e.settings.Hard, err = eviction.ParseSettings(text, "<")
	return errors.Join(err, e.checkHardAlone())
}

// checkHardAlone returns an error if the hard thresholds are invalid. Faults of the other flags may depend on flags
// that are not set yet.
func (e *Eviction) checkHardAlone() error {
	_, err := eviction.Settings{Hard: e.settings.Hard}.Thresholds()
	return err
}

// SetSoft sets the flag --eviction-soft.
func (e *Eviction) SetSoft(text string) (err error) {
	e.settings.Soft, err = eviction.ParseSettings(text, "<")
	return err
}

// SetSoftGracePeriod sets the flag --eviction-soft-grace-period.
func (e *Eviction) SetSoftGracePeriod(text string) (err error) {
	e.settings.SoftGracePeriod, err = eviction.ParseSettings(text, "=")
	return err
}

// SetMinimumReclaim sets the flag --eviction-minimum-reclaim.
func (e *Eviction) SetMinimumReclaim(text string) (err error) {
	e.settings.MinimumReclaim, err = eviction.ParseSettings(text, "=")
	return err
}

// SetTransitionPeriod sets the flag --eviction-pressure-transition-period. 0 is the default.
func (e *Eviction) SetTransitionPeriod(text string) (err error) {
	if e.policy.TransitionPeriod, err = time.ParseDuration(text); err != nil || e.policy.TransitionPeriod < 0 {
		return errors.New("expected a duration, such as 5m")
	}
	return nil
}

// SetMaxPodGrace sets the flag --eviction-max-pod-grace-period.
func (e *Eviction) SetMaxPodGrace(text string) (err error) {
	if e.policy.MaxPodGraceSeconds, err = strconv.ParseInt(text, 10, 32); err != nil {
		return errors.New("expected a number of seconds")
	}
	return nil
}

// Configure lets a node evict pods. root is its directory with volumes, and c.Logs.Root the one with logs. The runtime
// returns the directory of its images. Without thresholds from flags Configure does nothing. The error names every fault
// of the flags.
func (e *Eviction) Configure(c *node.Config, root string, images runtime.ImageFilesystem) error {
	if e.settings.Hard == nil && e.settings.Soft == nil {
		return nil
	}
	thresholds, err := e.settings.Thresholds()
	if err != nil {
		return err
	}
	policy := e.policy
	policy.Thresholds = thresholds
	host := observe.NewHost(observe.HostConfig{NodeDirectory: root, ImageDirectory: func(ctx context.Context) (string, error) {
		usage, err := images.ImageFilesystem(ctx)
		return usage.Directory, err
	}})
	files := observe.FilesConfig{VolumeDirectory: observe.VolumeDirectory(root)}
	if c.Logs.Root != "" {
		files.LogDirectory = observe.LogDirectory(c.Logs.Root)
	}
	c.Eviction = node.EvictionConfig{Signals: host, Policy: policy, Storage: observe.NewFiles(files)}
	return nil
}
