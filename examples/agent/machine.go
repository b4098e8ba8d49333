package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"time"

	"github.com/podkeel/podkeel/examples/internal/command"
	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/hookhttp"
	"github.com/podkeel/podkeel/podworkers/podsync/objects"
	"github.com/podkeel/podkeel/podworkers/prober/grpccheck"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/node/statedir"
)

// lockStateDirAndConfigureNode returns the configuration of the node. It locks and prepares the state
// directory, and configures the CRI runtime, if they are set. The caller must close lock, if it is not nil, to
// unlock the directory, also after an error.
func (o *options) lockStateDirAndConfigureNode(log *slog.Logger) (_ node.Config, lockToCloseAlsoOnError io.Closer, _ error) {
	c := node.Config{
		Log:        log,
		Name:       o.nodeName,
		Sync:       node.SyncConfig{MaxSyncs: o.maxSyncs, Resync: o.resync, Relist: o.relist, Housekeeping: o.housekeeping},
		Containers: node.ContainersConfig{CrashLoop: backoff.CrashLoop{Max: o.maxRestart}, Handlers: o.handlers, DNS: o.dns, HTTP: hookhttp.New(hookhttp.Config{})},
		Pods: node.PodsConfig{OrphanGrace: o.orphanGrace,
			AwaitHost: o.api.write && o.api.kubeconfig != ""}, // Wait until the created pods are known.
		Scheduling: node.SchedulingConfig{Labels: o.labels, Capacity: o.capacity, MaxPods: cmp.Or(o.maxPods, int(min(o.capacity.Pods().Value(), 1<<20))), Taints: o.taints},
		Images: node.ImagesConfig{MaxPulls: o.maxPulls, MaxPullsPerRegistry: o.maxPulls,
			GC: o.imageGC},
		Logs:   node.LogsConfig{MaxBytes: o.logMaxBytes, MaxFiles: o.logMaxFiles},
		Probes: node.ProbesConfig{GRPC: grpccheck.New(grpccheck.Config{})},
	}
	var faults [6]error
	c.Containers.HostIPs = o.nodeIPs
	c.Volumes.Objects, faults[0] = o.newObjectSource()
	if o.runtime == "memory" { // It isolates nothing, so every class can be tried.
		c.Containers.RuntimeClass = func(class string) (handler string, known bool) { return class, true }
	}
	if o.runtime == "cri" {
		c.Scheduling.MachineCapacity = command.Capacity()
		faults[5] = o.sysctls.Configure(&c.Scheduling)
		o.stateDir = cmp.Or(o.stateDir, defaultStateDir)
		o.criEndpoint = cmp.Or(o.criEndpoint, defaultEndpoint)
	}
	faults[3] = o.reserved.Configure(&c, cmp.Or(o.stateDir, os.TempDir()))
	var dir *statedir.Dir
	if o.stateDir != "" {
		if dir, faults[1] = o.openStateDir(c.Log); dir != nil {
			lockToCloseAlsoOnError = dir
		}
	}
	switch {
	case o.runtime == "memory":
		faults[2] = o.configureEvictionsInMemory(&c)
	case o.runtime == "cri" && faults[1] == nil:
		faults[2] = o.configureCRI(&c)
	}
	if dir != nil { // After the evictions, whose thresholds reduce the allocatable resources.
		if err := dir.Configure(&c); err != nil {
			faults[4] = fmt.Errorf("--state-dir %q: %w", o.stateDir, err)
		}
	}
	return c, lockToCloseAlsoOnError, errors.Join(faults[:]...)
}

// mayReferToObjects reports whether manifests may refer to ConfigMaps and Secrets: only with --objects or with
// the embedded examples.
func (o *options) mayReferToObjects() bool { return o.objects != "" || o.usesEmbeddedExamples() }

// usesEmbeddedExamples reports whether the agent runs the embedded examples. It does so if no manifest path,
// manifest URL, configuration file or file for "agent run" is given.
func (o *options) usesEmbeddedExamples() bool {
	return o.manifests == "" && o.manifestURL == "" && o.config == "" && o.pods == nil
}

// newObjectSource returns the ConfigMaps and Secrets in the directory of --objects, or in the embedded
// examples. It returns nil if the agent uses neither.
func (o *options) newObjectSource() (podsync.Objects, error) {
	switch {
	case o.objects != "":
		dir, err := filepath.Abs(o.objects)
		if err != nil {
			return nil, err
		}
		return objects.NewFiles(dir)
	case !o.mayReferToObjects():
		return nil, nil
	}
	m := objects.NewMap()
	embedded, _ := fs.Sub(examples, "objects") // The path is constant and valid.
	return m, m.Load(embedded)
}

// openStateDir creates and locks the state directory. Two agents with one directory would put the same owner label on
// their pods, and each would kill the pods of the other (F74).
func (o *options) openStateDir(log *slog.Logger) (*statedir.Dir, error) {
	dir, err := statedir.Open(statedir.Config{
		Root: o.stateDir, Log: log,
		SecretsInMemory: o.runtime == "cri" && os.Geteuid() == 0 && goruntime.GOOS == "linux", // Other users may not mount.
	})
	if err == nil {
		return dir, nil
	}
	cause := (*os.PathError)(nil)
	switch {
	case errors.Is(err, statedir.ErrLocked):
		err = statedir.ErrLocked
	case errors.As(err, &cause):
		err = cause.Err
	}
	return nil, fmt.Errorf("--state-dir %q: %w", o.stateDir, err)
}

// resetOrReportConflictingFlags returns errors for flags that are valid alone but not together. For a field of
// the configuration file that has no effect it adds a warning instead. It resets some flags that have no
// effect.
func (o *options) resetOrReportConflictingFlags() (faults []error) {
	low, high := cmp.Or(o.imageGC.LowThresholdPercent, policy.DefaultLowThresholdPercent), o.imageGC.Complete().HighThresholdPercent
	switch {
	case low <= high:
	case o.imageGC.LowThresholdPercent > 0:
		faults = append(faults, fmt.Errorf("%s %d: expected at most --image-gc-high, which is %d", o.dashedFlagOrConfigLine("image-gc-low"), low, high))
	default: // Otherwise the node would remove images that it needs next.
		faults = append(faults, fmt.Errorf("%s %d: expected at least --image-gc-low, which is %d", o.dashedFlagOrConfigLine("image-gc-high"), high, low))
	}
	if o.criEndpoint != "" && o.runtime != "cri" {
		faults = append(faults, o.noEffectErrorOrWarn("cri-endpoint", "--runtime cri"))
	}
	if o.runtime == "cri" && o.usesEmbeddedExamples() {
		faults = append(faults, errors.New("--runtime cri needs --manifests PATH: the embedded examples are for the runtime in memory"))
	}
	if o.logs.Dir != "" && o.runtime != "cri" {
		faults = append(faults, o.noEffectErrorOrWarn("log-dir", "--runtime cri"))
	}
	if o.logs.Links != "" && o.runtime != "cri" {
		faults = append(faults, o.noEffectErrorOrWarn("log-links", "--runtime cri"))
	}
	if o.api.kubeconfig == "" {
		if o.api.write {
			faults = append(faults, errors.New("--api-write has no effect without --write-kubeconfig"))
		}
		if o.api.listen != defaultAPIListen {
			faults = append(faults, errors.New("--api-listen has no effect without --write-kubeconfig"))
		}
	}
	if len(o.urlHeader) > 0 && o.manifestURL == "" {
		faults = append(faults, o.noEffectErrorOrWarn("manifest-url-header", "--manifest-url"))
		o.urlHeader = nil
	}
	if len(o.sysctls) > 0 && o.runtime != "cri" {
		faults = append(faults, o.noEffectErrorOrWarn("allowed-unsafe-sysctls", "--runtime cri"))
	}
	if o.resolver != nil && o.runtime != "cri" {
		faults = append(faults, o.noEffectErrorOrWarn("resolv-conf", "--runtime cri"))
	}
	if said := o.capacity.Pods().Value(); o.maxPods != 0 && said != 0 && said != int64(o.maxPods) {
		faults = append(faults, fmt.Errorf("%s %d: --capacity says pods=%d", o.dashedFlagOrConfigLine("max-pods"), o.maxPods, said))
	}
	if o.dns.ClusterDomain != "" && len(o.dns.ClusterDNS) == 0 {
		faults = append(faults, o.noEffectErrorOrWarn("cluster-domain", "--cluster-dns"))
		o.dns.ClusterDomain = ""
	}
	return faults
}

// setOrphanGrace parses and stores a duration. It stores -1 for 0, because -1 means "no grace" in the node's
// configuration. It returns an error if s is no duration or is negative.
func (o *options) setOrphanGrace(s string) (err error) {
	if o.orphanGrace, err = time.ParseDuration(s); err != nil || o.orphanGrace < 0 {
		return errors.New("expected a duration, such as 30s or 2m, or 0 for none")
	}
	if o.orphanGrace == 0 {
		o.orphanGrace = -1
	}
	return nil
}

// setMaxPulls parses and stores a count. It stores -1 for 0, because -1 means "no limit" in the node's
// configuration.
func (o *options) setMaxPulls(s string) error {
	err := countFlag(&o.maxPulls)(s)
	if o.maxPulls == 0 {
		o.maxPulls = -1
	}
	return err
}

// setLogMaxSize parses and stores a size in bytes. It stores -1 for 0, because -1 means "no limit" in the
// node's configuration. It returns an error if s is no quantity or is negative.
func (o *options) setLogMaxSize(s string) error {
	q, err := podspec.ParseQuantity(s)
	if err != nil || q.Sign() < 0 {
		return errors.New("expected a size, such as 10Mi, or 0 for any size")
	}
	if o.logMaxBytes = q.Value(); o.logMaxBytes == 0 {
		o.logMaxBytes = -1
	}
	return nil
}

// setLogMaxFiles parses and stores the number of log files per container. It returns an error if s is no number
// from 2, because there is always the current log and an older one.
func (o *options) setLogMaxFiles(s string) (err error) {
	if o.logMaxFiles, err = strconv.Atoi(s); err != nil || o.logMaxFiles < 2 {
		return errors.New("expected a number from 2")
	}
	return nil
}

// setStateDir stores the path. It returns an error if the path exists and is not a directory.
func (o *options) setStateDir(path string) error {
	o.stateDir = path
	return checkDirectory(path, true)
}

// setObjects stores the path. It returns an error if the path is not an existing directory.
func (o *options) setObjects(path string) error {
	o.objects = path
	return checkDirectory(path, false)
}

// checkDirectory returns an error if the path is not a directory. A path that does not exist is an error only
// if mayBeMissing is false.
func checkDirectory(path string, mayBeMissing bool) error {
	info, err := os.Stat(path)
	switch {
	case path == "":
		return errors.New("expected a directory")
	case err == nil && !info.IsDir():
		return errors.New("is not a directory")
	case mayBeMissing && errors.Is(err, fs.ErrNotExist):
		return nil
	}
	if cause := (*os.PathError)(nil); errors.As(err, &cause) {
		return cause.Err // The caller names the path.
	}
	return err
}
