package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"

	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podkeel/podkeel/examples/internal/command"
	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/podmanager/checkpoint"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/source/manifest"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/hookhttp"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes"
	"github.com/podkeel/podkeel/podworkers/prober/grpccheck"
	"github.com/podkeel/podkeel/runtime/cri"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/node"
)

// options holds the values of the flags.
type options struct {
	kubeconfig, name, runtime, endpoint, root, manifests string
	strict                                               bool // unknown and duplicate fields of static pods are faults
	address, certFile, keyFile, clientCA                 string
	port, maxPods                                        int
	dns                                                  podsync.Resolver
	metrics                                              *command.Metrics
	ips, certificateIPs                                  []string // from flags; IPs in a generated certificate
	unsafeSysctls                                        command.UnsafeSysctls
	labels                                               map[string]string
	logs                                                 command.Logs
	cgroups                                              command.PodCgroups
	eviction                                             command.Eviction
	reserved                                             command.Reserved
	taints                                               []v1.Taint
	rootLock                                             *os.File // locks the root directory; may be nil
}

// defineFlags adds the flags to f, and returns the options that the flags set.
func defineFlags(f *pflag.FlagSet) *options {
	host, _ := os.Hostname()
	o := &options{}
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "`file` with the address of the API server and the node's credentials")
	f.StringVar(&o.name, "hostname-override", host, "`name` of the node, in lower case")
	f.StringVar(&o.runtime, "runtime", "memory", "`memory|cri` runs the containers")
	f.StringVar(&o.endpoint, "container-runtime-endpoint", "unix:///run/containerd/containerd.sock", "`socket` of the runtime, for cri")
	f.StringVar(&o.root, "root-dir", "/var/lib/podkeel", "`directory` for volumes and state, for cri")
	f.Func("log-dir", "`directory` of containers' logs, for this node alone; if empty /var/log/pods, for cri", o.logs.SetDir)
	f.Func("cgroups-per-qos", "`true` gives each pod a cgroup with its limits, for cri; the default", o.cgroups.SetPerQOS)
	f.Func("cgroup-driver", "`cgroupfs|systemd` is the cgroup driver of a runtime that reports none, as containerd before 2.0; if empty systemd on a host with systemd, and otherwise cgroupfs", o.cgroups.SetDriver)
	f.Func("pod-max-pids", "`number` of processes of a pod at most, with --cgroups-per-qos; -1, the default, is no limit", o.cgroups.SetMaxPIDs)
	f.Func("eviction-hard", "`thresholds` below which pods are evicted, as memory.available<100Mi; empty for none; if absent the kubelet's with cri, and none in memory", o.eviction.SetHard)
	f.Func("eviction-soft", "`thresholds` that act after their grace period; none if absent", o.eviction.SetSoft)
	f.Func("eviction-soft-grace-period", "`periods` of the soft thresholds, as memory.available=90s", o.eviction.SetSoftGracePeriod)
	f.Func("eviction-minimum-reclaim", "`amounts` above a threshold that must become available, as nodefs.available=1Gi", o.eviction.SetMinimumReclaim)
	f.Func("eviction-pressure-transition-period", "`duration` for which a pressure condition stays; if absent 5m", o.eviction.SetTransitionPeriod)
	f.Func("kernel-memcg-notification", "`true` lets the kernel notify about scarce memory, on cgroup v1; if absent false", o.eviction.SetKernelNotification)
	f.Func("eviction-max-pod-grace-period", "`seconds` of grace of soft evictions at most; if absent a second; negative for the pod's own", o.eviction.SetMaxPodGrace)
	f.Func("system-reserved", "`resources` that pods cannot use, as cpu=500m,memory=1Gi,ephemeral-storage=1Gi,pid=1000; none if absent", o.reserved.SetSystem)
	f.Func("kube-reserved", "more such `resources`, for this program and the runtime; none if absent", o.reserved.SetKube)
	f.Func("log-links", "`directory` of a link to each log; if empty /var/log/containers, and none with --log-dir", o.logs.SetLinks)
	f.Func("allowed-unsafe-sysctls", "`names` of sysctls that pods may set beside the safe ones, or prefixes that end in *, separated by commas, for cri; none if absent", o.unsafeSysctls.Set)
	f.StringVar(&o.manifests, "pod-manifest-path", "", "`directory` of static pods; none if empty")
	f.BoolVar(&o.strict, "strict", false, "reject static pods with unknown or duplicate fields, which are ignored otherwise")
	f.IntVar(&o.port, "port", kubeletPort, "`port` of the node's API, for kubectl logs, exec, attach, cp and port-forward; 0: it is not served")
	f.StringVar(&o.address, "address", "", "`address` on which the node's API is served; if empty 0.0.0.0 with --client-ca-file, and 127.0.0.1 without")
	f.StringVar(&o.clientCA, "client-ca-file", "", "`file` with the CAs of client certificates, such as the API server's; if empty only tokens are accepted, and kubectl logs does not work")
	f.StringVar(&o.certFile, "tls-cert-file", "", "`file` with the certificate of the node's API; if empty one is generated at each start")
	f.StringVar(&o.keyFile, "tls-private-key-file", "", "`file` with the key of --tls-cert-file")
	f.IntVar(&o.maxPods, "max-pods", 110, "maximum `number` of pods")
	f.Func("node-ip", "`addresses` of the node, separated by commas; if empty a specific --address, or the address from which the machine reaches the API server", o.setIPs)
	f.Func("node-labels", "`labels` of the node, as key=value, separated by commas", command.LabelsFlag(&o.labels))
	f.Func("register-with-taints", "`taints` of a new node, as key=value:effect, separated by commas", command.TaintsFlag(&o.taints))
	f.Func("cluster-dns", "`addresses` of the cluster's name servers, separated by commas; if empty pods use the host's", o.setClusterDNS)
	f.StringVar(&o.dns.ClusterDomain, "cluster-domain", "", "`domain` of the cluster, mostly cluster.local")
	return o
}

// podLevelResize is the declared feature of a node that resizes spec.resources of pods in place. Without it an API server
// refuses such a resize.
const podLevelResize = "InPlacePodLevelResourcesVerticalScaling"

// serveWebSockets is the declared feature of a node whose API serves every WebSocket. An API server then passes on
// the WebSockets of kubectl. Without it an API server translates them to SPDY.
const serveWebSockets = "ExtendWebSocketsToKubelet"

// kubeletPort is the default port of a kubelet.
const kubeletPort = 10250

// checkAndComplete returns an error for an invalid flag. It also sets missing options that depend on others:
// the address of the node's API, and the addresses of the node. It converts the node's name and the cluster
// domain to lower case.
func (o *options) checkAndComplete() error {
	o.name = strings.ToLower(strings.TrimSpace(o.name))
	o.dns.ClusterDomain = strings.ToLower(strings.TrimSuffix(o.dns.ClusterDomain, "."))
	switch {
	case o.kubeconfig == "":
		return errors.New("--kubeconfig is missing")
	case len(validation.IsDNS1123Subdomain(o.name)) > 0:
		return fmt.Errorf("--hostname-override %q: expected a DNS name of lower case letters, digits, dashes and dots, as node-1", o.name)
	case o.port < 0 || o.port > 65535:
		return fmt.Errorf("--port %d: expected 0 to 65535", o.port)
	case o.maxPods < 1:
		return fmt.Errorf("--max-pods %d: expected 1 or more", o.maxPods)
	case (o.certFile == "") != (o.keyFile == ""):
		return errors.New("--tls-cert-file and --tls-private-key-file need each other")
	case o.runtime != "memory" && o.runtime != "cri":
		return fmt.Errorf("--runtime %q: expected memory or cri", o.runtime)
	case o.dns.ClusterDomain != "" && len(validation.IsDNS1123Subdomain(o.dns.ClusterDomain)) > 0:
		return fmt.Errorf("--cluster-domain %q: expected a DNS name, as cluster.local", o.dns.ClusterDomain)
	}
	if ip, err := netip.ParseAddr(o.address); o.address != "" && err != nil {
		return fmt.Errorf("--address %q: expected an address, as 0.0.0.0", o.address)
	} else if len(o.ips) == 0 && o.address != "" && !ip.IsUnspecified() {
		o.ips = []string{o.address}
	}
	if o.address == "" {
		o.address = "127.0.0.1" // Without --client-ca-file the API server cannot authenticate, so no other machine needs to connect.
		if o.clientCA != "" {
			o.address = "0.0.0.0"
		}
	}
	return nil
}

// configureAdmission adds the admission handlers for pods that need something of the host: allowed sysctls, and AppArmor.
func (o *options) configureAdmission(c *node.SchedulingConfig) error {
	if err := o.unsafeSysctls.Configure(c); err != nil {
		return err
	}
	c.Admit = append(c.Admit, syncloop.AdmitAppArmor(command.IsAppArmorEnabled("/sys")))
	return nil
}

// setIPs parses and stores the IP addresses of the node.
func (o *options) setIPs(s string) error { return parseAddresses(&o.ips, s) }

// setClusterDNS parses and stores the IP addresses of the cluster's name servers.
func (o *options) setClusterDNS(s string) error { return parseAddresses(&o.dns.ClusterDNS, s) }

// parseAddresses replaces the list by the IP addresses in s, which are separated by commas. It returns an error
// if an address is invalid.
func parseAddresses(list *[]string, s string) error {
	*list = strings.Split(s, ",")
	for _, ip := range *list {
		if _, err := netip.ParseAddr(ip); err != nil {
			return errors.New("expected addresses, as 192.0.2.1,2001:db8::1")
		}
	}
	return nil
}

// metricsOrNew returns the metrics of the program. The first call creates them.
func (o *options) metricsOrNew() (_ *command.Metrics, err error) {
	if o.metrics == nil {
		o.metrics, err = command.NewMetrics()
	}
	return o.metrics, err
}

// nodeConfigAndLockRoot returns the configuration of the node with its source of static pods and its runtime.
// With the CRI runtime it also creates and locks --root-dir.
func (o *options) nodeConfigAndLockRoot(server apiserver.Server, log *slog.Logger) (cluster.Config, error) {
	counted, err := o.metricsOrNew()
	if err != nil {
		return cluster.Config{}, err
	}
	config := cluster.Config{
		Server: server, Port: int32(o.port), Info: command.SystemInfo(),
		Metrics: counted.All, ResourceMetrics: counted.Resources, AgentHooks: counted.AgentHooks(),
		Features: []string{podLevelResize, serveWebSockets},
	}
	c := &config.Node
	*c = node.Config{
		Name: o.name, Containers: node.ContainersConfig{HostIPs: o.ips, HTTP: hookhttp.New(hookhttp.Config{}), DNS: o.dns}, Scheduling: node.SchedulingConfig{Labels: o.labels, Taints: o.taints, Capacity: command.CapacityWithDisk(o.root), MaxPods: o.maxPods}, Log: log, Probes: node.ProbesConfig{GRPC: grpccheck.New(grpccheck.Config{})},
	}
	if err := o.reserved.Configure(c, o.root); err != nil {
		return cluster.Config{}, err
	}
	config.Configuration = func() any { return o.effectiveConfig(c) }
	counted.Instrument(c)
	if o.manifests != "" {
		static, err := manifest.New(manifest.Config{Path: o.manifests, NodeName: o.name, Strict: o.strict, Log: log, StateDir: o.sourceStateDir()})
		if err != nil {
			return config, fmt.Errorf("--pod-manifest-path: %w", err)
		}
		c.Pods.Sources = map[string]source.Source{"file": static}
	}
	if o.runtime == "memory" {
		if o.eviction.HasThresholds() {
			err = o.eviction.Configure(c, os.TempDir(), nil)
		}
		return config, err
	}
	return config, o.lockRootAndConfigureCRI(&config)
}

// sourceStateDir returns the directory in which the source of static pods saves valid manifests. With the
// in-memory runtime it returns "", and the source saves none.
func (o *options) sourceStateDir() string {
	if o.runtime == "memory" {
		return ""
	}
	return filepath.Join(o.root, "sources")
}

// lockRootAndConfigureCRI creates and locks --root-dir, and configures the node for a CRI runtime, with
// volumes, logs and saved statuses on disk. It stores the lock in o.rootLock.
func (o *options) lockRootAndConfigureCRI(config *cluster.Config) error {
	c := &config.Node
	root, err := filepath.Abs(o.root)
	if err == nil {
		err = osfile.MkdirAll(root, 0o750) // It has the owner file, which must survive a power failure.
	}
	if err != nil {
		return fmt.Errorf("--root-dir: %w", err)
	}
	if o.rootLock, err = osfile.LockDir(root); err != nil { // Two agents would kill each other's pods.
		return fmt.Errorf("--root-dir %s: %w", root, err)
	}
	owner, err := cri.OwnerFile(root)
	if err != nil {
		return fmt.Errorf("--root-dir: %w", err)
	}
	runtime, err := cri.New(cri.Config{Endpoint: o.endpoint, Owner: owner, Log: c.Log, Hooks: o.metrics.CRI()})
	if err != nil {
		return fmt.Errorf("--container-runtime-endpoint: %w", err)
	}
	c.Runtime = runtime
	if err := o.configureAdmission(&c.Scheduling); err != nil {
		return err
	}
	if err := o.cgroups.Configure(c, runtime, owner); err != nil {
		return err
	}
	config.Volumes = func(n node.Config) (podsync.Volumes, podsync.Files, error) {
		dir, err := volumes.New(volumes.Config{
			Root: root, Objects: n.Volumes.Objects, Tokens: n.Volumes.Tokens, Claims: n.Volumes.Claims, Allocatable: n.Allocatable(),
			SecretsInMemory: os.Geteuid() == 0 && goruntime.GOOS == "linux", // Other users may not mount.
		})
		return dir, dir, err
	}
	c.Containers.RuntimeName, c.Containers.SeccompRoot = "containerd", filepath.Join(root, "seccomp")
	o.logs.Configure(c, root, filepath.Join(root, "log", "pods"), filepath.Join(root, "log", "containers"))
	if err := o.eviction.Configure(c, root, runtime); err != nil {
		return err
	}
	if c.Pods.TerminalStatuses, err = checkpoint.New(checkpoint.Config{Root: filepath.Join(root, "ended"), Log: c.Log}); err != nil {
		return err
	}
	if c.Pods.ContainerStates, err = checkpoint.NewContainers(checkpoint.Config{Root: filepath.Join(root, "containers"), Log: c.Log}); err != nil {
		return err
	}
	c.Pods.AllocatedResources, err = checkpoint.NewResources(checkpoint.Config{Root: filepath.Join(root, "resources"), Log: c.Log})
	return err
}
