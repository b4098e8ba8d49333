package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/podkeel/podkeel/examples/internal/command"
	"github.com/podkeel/podkeel/podmanager/checkpoint"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/debug"
	"github.com/podkeel/podkeel/syncloop/localapi"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodestatus"
)

// apiOptions are the flags of the Kubernetes API. There is one if there is a kubeconfig.
type apiOptions struct {
	kubeconfig string // the file to write; empty: there is no API
	listen     string
	write      bool
}

// defaultAPIListen is a free port on loopback.
const defaultAPIListen = "127.0.0.1:0"

func (o *options) apiFlags() flagSet {
	return flagSet{
		{name: "write-kubeconfig", value: "FILE", meaning: "serve the Kubernetes API for kubectl, and write its kubeconfig there (none)", set: func(s string) error {
			o.api.kubeconfig = s
			return nil
		}},
		{name: "api-listen", value: "ADDR", meaning: "where that API is served (a free port on 127.0.0.1)", set: func(s string) error {
			o.api.listen = s
			return nil
		}},
		{name: "api-write", meaning: "let that API create, change and delete pods, kept in the state directory (false)", set: boolean(&o.api.write)},
	}
}

// kubernetes is the Kubernetes API of an agent.
type kubernetes struct {
	events   *localapi.Events
	api      *localapi.API
	server   *debug.Server
	listener net.Listener
}

// apiHeader bounds the header of a request, in bytes: a command is in it.
const apiHeader = 128 << 10

// credentialsFile has the CA and the token, in the state directory.
const credentialsFile = "api-credentials.json"

// recordFor has the events of pods in the API too, if there is to be one.
func (a *agent) recordFor(printed runtime.EventRecorder) (runtime.EventRecorder, error) {
	if a.options.api.kubeconfig == "" {
		return printed, nil
	}
	events, err := localapi.NewEvents(a.nodeName, nil)
	a.kubernetes.events = events
	return recorders{printed, events}, err
}

// recorders record everything twice.
type recorders [2]runtime.EventRecorder

// Event implements runtime.EventRecorder.
func (r recorders) Event(object k8sruntime.Object, eventtype, reason, message string) {
	for _, one := range r {
		one.Event(object, eventtype, reason, message)
	}
}

// Eventf implements runtime.EventRecorder.
func (r recorders) Eventf(object k8sruntime.Object, eventtype, reason, format string, args ...any) {
	r.Event(object, eventtype, reason, fmt.Sprintf(format, args...))
}

// bindAPI takes the port of the API and writes the kubeconfig, before anything runs.
func (a *agent) bindAPI(config *node.Config) (err error) {
	k, o := &a.kubernetes, a.options.api
	if o.kubeconfig == "" {
		return nil
	}
	if err = replaceable(o.kubeconfig); err != nil {
		return fmt.Errorf("--write-kubeconfig %q: %w", o.kubeconfig, err)
	}
	secrets, err := a.credentials()
	if err != nil {
		return err
	}
	served := localapi.Config{
		Node: a.node, NodeName: a.nodeName, Labels: config.Labels, Taints: config.Taints, Facts: a.factsOf(config), Events: k.events, Stats: a.node,
		Finder: a.node, Logs: a.node, Exec: a.node, Attach: a.node, PortForward: a.node,
		Authenticator: localapi.Token(secrets.Token), Log: a.log,
	}
	if o.write {
		served.Writer = a.node
		if served.Saved, err = a.savedPods(); err != nil {
			return err
		}
	}
	if k.api, err = localapi.New(served); err != nil {
		return err
	}
	if k.listener, err = net.Listen("tcp", o.listen); err != nil {
		return fmt.Errorf("--api-listen %q: %w", o.listen, err)
	}
	tls, err := secrets.TLS(append([]string{a.nodeName, hostOf(o.listen)}, config.HostIPs...)...)
	if err == nil {
		k.server, err = debug.NewServer(debug.ServerConfig{Handler: k.api, TLS: tls, MaxHeaderBytes: apiHeader, Log: a.log})
	}
	if err == nil {
		err = writeSecret(o.kubeconfig, secrets.Kubeconfig(reachable(k.listener.Addr())))
	}
	if err != nil {
		err = fmt.Errorf("--write-kubeconfig %q: %w", o.kubeconfig, errors.Join(err, k.listener.Close()))
	}
	return err
}

// savedPods keeps created pods in the state directory, if there is one.
func (a *agent) savedPods() (localapi.Saved, error) {
	if a.stateDir == "" {
		return localapi.Unsaved{}, nil
	}
	dir, err := filepath.Abs(a.stateDir)
	if err != nil {
		return nil, err
	}
	return checkpoint.NewPods(checkpoint.Config{Root: filepath.Join(dir, "api-pods"), Log: a.log})
}

// reachable is an address that a client on this machine can dial.
func reachable(listening net.Addr) string {
	host, port, _ := net.SplitHostPort(listening.String()) // It is listened at.
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// defaultMaxPods is how many pods a node may have that was not told.
const defaultMaxPods = 110

// factsOf is what the node's object shows beside its name and labels.
func (a *agent) factsOf(config *node.Config) func(context.Context) nodestatus.Facts {
	return func(ctx context.Context) nodestatus.Facts {
		f := nodestatus.Facts{Capacity: command.Capacity(), Reserved: config.Reserved, Info: command.System()}
		f.Capacity[v1.ResourcePods] = *resource.NewQuantity(int64(cmp.Or(config.MaxPods, defaultMaxPods)), resource.DecimalSI)
		maps.Copy(f.Capacity, config.Capacity)
		for _, ip := range strings.Split(cmp.Or(strings.Join(config.HostIPs, ","), "127.0.0.1"), ",") {
			f.Addresses = append(f.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: ip})
		}
		f.Addresses = append(f.Addresses, v1.NodeAddress{Type: v1.NodeHostName, Address: a.nodeName})
		f.Info.ContainerRuntimeVersion = "memory://"
		if named, ok := config.Runtime.(runtime.Versioner); ok {
			if name, version, err := named.Version(ctx); err == nil {
				f.Info.ContainerRuntimeVersion = name + "://" + version
			}
		}
		return f
	}
}

// credentials are those of the state directory, so that a kubeconfig stays valid, or new
// ones.
func (a *agent) credentials() (*localapi.Credentials, error) {
	if a.stateDir == "" {
		return localapi.NewCredentials()
	}
	path := filepath.Join(a.stateDir, credentialsFile)
	text, err := readSecret(path)
	if err == nil {
		secrets, err := localapi.ParseCredentials(text)
		if err != nil {
			err = fmt.Errorf("%s: %w; remove the file to have new ones", path, err)
		}
		return secrets, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	secrets, err := localapi.NewCredentials()
	if err != nil {
		return nil, err
	}
	if text, err = secrets.Marshal(); err == nil {
		err = writeSecret(path, text)
	}
	return secrets, err
}

// serveAPI answers requests until the function it returns is called.
func (a *agent) serveAPI() (hangUp func()) {
	k := &a.kubernetes
	if k.api == nil {
		return func() {}
	}
	ctx, end := context.WithCancel(context.Background())
	done := make(chan struct{}, 2)
	go func() { _ = k.api.Run(ctx); done <- struct{}{} }() // It fails at a second call only.
	go func() {
		if err := k.server.Run(ctx, k.listener); err != nil {
			a.log.Error("the Kubernetes API has failed", "err", err)
		}
		done <- struct{}{}
	}()
	a.log.Info("the Kubernetes API is served", "address", k.listener.Addr(), "kubeconfig", a.options.api.kubeconfig)
	return func() {
		end()
		<-done
		<-done
	}
}
