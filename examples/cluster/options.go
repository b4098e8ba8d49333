package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/podmanager/apiserver"
	"github.com/podkeel/podkeel/podmanager/checkpoint"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/source/manifest"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/hookhttp"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes"
	"github.com/podkeel/podkeel/runtime/cri"
	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/node"
)

// options are the flags.
type options struct {
	kubeconfig, name, runtime, endpoint, root, manifests string
	address, certFile, keyFile, clientCA                 string
	port                                                 int
	ips                                                  []string
	labels                                               map[string]string
	taints                                               []v1.Taint
	claimed                                              *os.File // the root directory; nil: none
}

// errHelp is the end of a run that only shows the flags.
var errHelp = errors.New("help")

// parse reads the flags. Help goes to out.
func parse(args []string, out io.Writer) (*options, error) {
	host, _ := os.Hostname()
	o := &options{}
	f := flag.NewFlagSet("cluster", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "`file` with the address of the API server and the node's credentials")
	f.StringVar(&o.name, "hostname-override", strings.ToLower(host), "`name` of the node")
	f.StringVar(&o.runtime, "runtime", "memory", "memory or cri")
	f.StringVar(&o.endpoint, "container-runtime-endpoint", "unix:///run/containerd/containerd.sock", "`socket` of the runtime, for cri")
	f.StringVar(&o.root, "root-dir", "/var/lib/podkeel", "`directory` for volumes, logs and state, for cri")
	f.StringVar(&o.manifests, "pod-manifest-path", "", "`directory` of static pods; none if empty")
	f.IntVar(&o.port, "port", 0, "where the node's API is served for kubectl logs, exec, attach and port-forward, 10250 for a kubelet; zero is nowhere")
	f.StringVar(&o.address, "address", "0.0.0.0", "`address` on which the node's API is served")
	f.StringVar(&o.certFile, "tls-cert-file", "", "`file` with the certificate of the node's API; if empty one is made at each start")
	f.StringVar(&o.keyFile, "tls-private-key-file", "", "`file` with the key of --tls-cert-file")
	f.StringVar(&o.clientCA, "client-ca-file", "", "`file` with those who sign certificates of the node's clients; if empty only tokens are accepted")
	f.Func("node-ip", "`addresses` of the node, separated by commas", o.setIPs)
	f.Func("node-labels", "`labels` of the node, as key=value, separated by commas", o.setLabels)
	f.Func("register-with-taints", "`taints` of a new node, as key=value:effect, separated by commas", o.setTaints)
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(out, guidance, "\nFlags:\n")
		f.SetOutput(out)
		f.PrintDefaults()
		return nil, errHelp
	} else if err != nil {
		return nil, err
	}
	switch {
	case f.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case o.kubeconfig == "":
		return nil, errors.New("--kubeconfig is missing")
	case o.name == "":
		return nil, errors.New("--hostname-override is missing")
	case o.port < 0 || o.port > 65535:
		return nil, fmt.Errorf("--port %d: expected 0 to 65535", o.port)
	case (o.certFile == "") != (o.keyFile == ""):
		return nil, errors.New("--tls-cert-file and --tls-private-key-file need each other")
	case o.runtime != "memory" && o.runtime != "cri":
		return nil, fmt.Errorf("--runtime %q: expected memory or cri", o.runtime)
	}
	return o, nil
}

func (o *options) setIPs(s string) error {
	for ip := range strings.SplitSeq(s, ",") {
		if _, err := netip.ParseAddr(ip); err != nil {
			return errors.New("expected addresses, as 192.0.2.1,2001:db8::1")
		}
		o.ips = append(o.ips, ip)
	}
	return nil
}

func (o *options) setLabels(s string) error {
	o.labels = map[string]string{}
	for one := range strings.SplitSeq(s, ",") {
		key, value, ok := strings.Cut(one, "=")
		if !ok || key == "" {
			return errors.New("expected labels, as disk=ssd,zone=a")
		}
		o.labels[key] = value
	}
	return nil
}

func (o *options) setTaints(s string) error {
	for one := range strings.SplitSeq(s, ",") {
		pair, effect, ok := strings.Cut(one, ":")
		key, value, _ := strings.Cut(pair, "=")
		switch v1.TaintEffect(effect) {
		case v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute:
		default:
			ok = false
		}
		if !ok || key == "" {
			return errors.New("expected taints, as dedicated=gpu:NoSchedule")
		}
		o.taints = append(o.taints, v1.Taint{Key: key, Value: value, Effect: v1.TaintEffect(effect)})
	}
	return nil
}

// system is what the node says of the machine; what cannot be read stays empty. Another boot
// is an event of the node.
func system() (info v1.NodeSystemInfo) {
	for path, into := range map[string]*string{
		"/proc/sys/kernel/random/boot_id": &info.BootID, "/proc/sys/kernel/osrelease": &info.KernelVersion, "/etc/machine-id": &info.MachineID,
	} {
		text, _ := os.ReadFile(path)
		*into = strings.TrimSpace(string(text))
	}
	return info
}

// config is the configuration of the node.
func (o *options) config(server apiserver.Server, log *slog.Logger) (cluster.Config, error) {
	config := cluster.Config{Server: server, Port: int32(o.port), Info: system()}
	c := &config.Node
	*c = node.Config{
		Name: o.name, HostIPs: o.ips, Labels: o.labels, Taints: o.taints, Log: log, HTTP: hookhttp.New(hookhttp.Config{}),
		Capacity: v1.ResourceList{
			v1.ResourceCPU:    *resource.NewQuantity(int64(goruntime.NumCPU()), resource.DecimalSI),
			v1.ResourceMemory: resource.MustParse("8Gi"),
		},
	}
	if o.manifests != "" {
		static, err := manifest.New(manifest.Config{Path: o.manifests, NodeName: o.name})
		if err != nil {
			return config, fmt.Errorf("--pod-manifest-path: %w", err)
		}
		c.Sources = map[string]source.Source{"file": static}
	}
	if o.runtime == "memory" {
		return config, nil
	}
	return config, o.onCRI(&config)
}

// onCRI has the containers of a containerd, and everything on the disk.
func (o *options) onCRI(config *cluster.Config) error {
	c := &config.Node
	root, err := filepath.Abs(o.root)
	if err == nil {
		err = os.MkdirAll(root, 0o750)
	}
	if err != nil {
		return fmt.Errorf("--root-dir: %w", err)
	}
	if o.claimed, err = osfile.Claim(root); err != nil { // Two agents would end each other's pods.
		return fmt.Errorf("--root-dir: %w", err)
	}
	owner, err := cri.OwnerFile(root)
	if err != nil {
		return fmt.Errorf("--root-dir: %w", err)
	}
	if c.Runtime, err = cri.New(cri.Config{Endpoint: o.endpoint, Owner: owner, Log: c.Log}); err != nil {
		return fmt.Errorf("--container-runtime-endpoint: %w", err)
	}
	config.Volumes = func(n node.Config) (podsync.Volumes, podsync.Files, error) {
		dir, err := volumes.New(volumes.Config{Root: root, Objects: n.Objects, Tokens: n.Tokens, Claims: n.Claims, Allocatable: n.Capacity})
		return dir, dir, err
	}
	c.RuntimeName, c.LogRoot, c.SeccompRoot = "containerd", filepath.Join(root, "log", "pods"), filepath.Join(root, "seccomp")
	c.LogLinks = filepath.Join(root, "log", "containers")
	if c.TerminalStatuses, err = checkpoint.New(checkpoint.Config{Root: filepath.Join(root, "ended"), Log: c.Log}); err != nil {
		return err
	}
	c.ContainerStates, err = checkpoint.NewContainers(checkpoint.Config{Root: filepath.Join(root, "containers"), Log: c.Log})
	return err
}
