package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/podkeel/podkeel/examples/internal/command"
	"github.com/podkeel/podkeel/podmanager/checkpoint"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/localapi"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodestatus"
	"github.com/podkeel/podkeel/syncloop/server"
)

// apiOptions are the flags of the Kubernetes API. There is one if there is a kubeconfig.
type apiOptions struct {
	kubeconfig string // the file to write; empty: there is no API
	listen     string
	write      bool
}

// defaultAPIListen is a port on loopback: see listenAPI.
const defaultAPIListen = "127.0.0.1:0"

func (o *options) apiFlags() flagSet {
	return flagSet{
		{name: "write-kubeconfig", value: "FILE", meaning: "serve the Kubernetes API for kubectl, and write its kubeconfig there (none)", set: func(s string) error {
			o.api.kubeconfig = s
			return nil
		}},
		{name: "api-listen", value: "ADDR", meaning: "where that API is served (a port on 127.0.0.1 that restarts keep if it is free)", set: func(s string) error {
			o.api.listen = s
			return nil
		}},
		{name: "api-write", meaning: "let that API create, change and delete pods, kept in the state directory (false)", set: boolean(&o.api.write)},
	}
}

// kubernetes is the Kubernetes API of an agent.
type kubernetes struct {
	events  *localapi.Events
	api     *localapi.API
	service *localapi.Service // nil: the API has no clients, and only keeps the created pods
}

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
func (a *agent) bindAPI(config *node.Config) error {
	o := a.options.api
	if err := a.leavesCreated(); err != nil || o.kubeconfig == "" {
		return err
	}
	secrets, changed, err := a.credentials()
	if err != nil {
		return err
	}
	api, err := a.newAPI(config, localapi.Token(secrets.Token))
	if err != nil {
		return err
	}
	a.kubernetes.api = api
	listener, err := listenAPI(o.listen, secrets.Token, a.log)
	if err != nil {
		return fmt.Errorf("--api-listen %q: %w", o.listen, err)
	}
	a.kubernetes.service, err = localapi.NewService(localapi.ServiceConfig{
		API: api, Listener: listener, Credentials: secrets, Kubeconfig: o.kubeconfig, Log: a.log,
		Hosts: append([]string{a.nodeName, hostOf(o.listen)}, config.Containers.HostIPs...),
	})
	if err == nil {
		return nil
	}
	err = fmt.Errorf("--write-kubeconfig: %w", errors.Join(err, listener.Close()))
	if changed && !errors.Is(err, localapi.ErrForeignFile) {
		// With the old credentials the kubeconfig would not have been written again.
		a.log.Warn("the Kubernetes API is not served, as its new kubeconfig cannot be written; pods run all the same", "err", err)
		return nil
	}
	return err
}

// The ports that listenAPI chooses from: below those that Linux gives away, and those of services.
const firstPort, ports = 20_000, 10_000

// listenAPI listens where the flag says. By default the port follows from the token, which a state
// directory keeps: so a client finds the agent again after a restart. If it is taken a free one is
// chosen, and the log says so.
func listenAPI(address, token string, log *slog.Logger) (net.Listener, error) {
	if address == defaultAPIListen {
		sum := sha256.Sum256([]byte(token))
		usual := firstPort + int(binary.BigEndian.Uint32(sum[:4])%ports)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(usual)))
		if err == nil {
			return l, nil
		}
		log.Warn("the usual port of the Kubernetes API cannot be used: clients that have read the kubeconfig before read it again", "port", usual, "err", err)
	}
	return net.Listen("tcp", address)
}

// newAPI makes the API of the node, which keeps created pods if it may be written.
func (a *agent) newAPI(config *node.Config, who server.Authenticator) (*localapi.API, error) {
	served := localapi.Config{
		Node: a.node, NodeName: a.nodeName, Labels: config.Scheduling.Labels, Taints: config.Scheduling.Taints, Facts: a.factsOf(config), Events: a.kubernetes.events,
		Stats: a.node.Containers(), Finder: a.node.Containers(), Logs: a.node.Containers(), Exec: a.node.Containers(), Attach: a.node.Containers(), PortForward: a.node.Containers(), Authenticator: who, Log: a.log,
	}
	if a.options.api.write {
		var err error
		if served.Saved, err = a.savedPods(); err != nil {
			return nil, err
		}
		served.Writer = a.node
	}
	return localapi.New(served)
}

// credentials returns the credentials of the state directory, so that a kubeconfig stays valid, or
// makes new ones. changed reports whether it has replaced credentials that clients use: a fault in
// their file keeps no pod from running.
func (a *agent) credentials() (secrets *localapi.Credentials, changed bool, err error) {
	if a.stateDir == "" {
		secrets, err = localapi.NewCredentials()
		return secrets, false, err
	}
	path := filepath.Join(a.stateDir, credentialsFile)
	secrets, fault := localapi.KeepCredentials(path)
	if fault == nil {
		return secrets, false, nil
	}
	effect := "they are replaced: clients need the new kubeconfig"
	if err = fault; errors.Is(fault, localapi.ErrBadCredentials) {
		secrets, err = localapi.ReplaceCredentials(path)
	}
	if err != nil {
		effect = "new ones are used until the agent exits: clients need the new kubeconfig"
		secrets, err = localapi.NewCredentials()
	}
	a.log.Warn("the credentials of the Kubernetes API cannot be used", "file", path, "fault", fault, "effect", effect)
	return secrets, true, err
}

// createdDir has the created pods, in the state directory.
const createdDir = "api-pods"

// leavesCreated is an error if the state directory has created pods and this agent takes none: they
// would end, and their volumes with them.
func (a *agent) leavesCreated() error {
	if a.stateDir == "" || a.options.api.write {
		return nil
	}
	dir := filepath.Join(a.stateDir, createdDir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil { // There may be some.
		return fmt.Errorf("the pods that were created by the Kubernetes API cannot be listed, and would end, and lose their volumes: %w", err)
	}
	pods := slices.DeleteFunc(entries, func(e os.DirEntry) bool { return !strings.HasSuffix(e.Name(), ".json") })
	if len(pods) > 0 {
		return fmt.Errorf("%d pods that were created by the Kubernetes API would end, and lose their volumes: start with --write-kubeconfig and --api-write, or remove %s", len(pods), dir)
	}
	return nil
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
	return checkpoint.NewPods(checkpoint.Config{Root: filepath.Join(dir, createdDir), Log: a.log})
}

// defaultMaxPods is how many pods a node may have that was not told.
const defaultMaxPods = 110

// factsOf is what the node's object shows beside its name and labels.
func (a *agent) factsOf(config *node.Config) func(context.Context) nodestatus.Facts {
	ask := runtimeHealth(config.Runtime, time.Now)
	return func(ctx context.Context) nodestatus.Facts {
		f := nodestatus.Facts{Capacity: command.Capacity(), Reserved: config.Scheduling.Reserved, Info: command.System()}
		f.Capacity[v1.ResourcePods] = *resource.NewQuantity(int64(cmp.Or(config.Scheduling.MaxPods, defaultMaxPods)), resource.DecimalSI)
		maps.Copy(f.Capacity, config.Scheduling.Capacity)
		for _, ip := range strings.Split(cmp.Or(strings.Join(config.Containers.HostIPs, ","), "127.0.0.1"), ",") {
			f.Addresses = append(f.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: ip})
		}
		f.Addresses = append(f.Addresses, v1.NodeAddress{Type: v1.NodeHostName, Address: a.nodeName})
		f.Info.ContainerRuntimeVersion = "memory://"
		if named := runtime.FeaturesOf(config.Runtime).Versioner; named != nil {
			if name, version, err := named.Version(ctx); err == nil {
				f.Info.ContainerRuntimeVersion = name + "://" + version
			}
		}
		f.RuntimeSeen, f.Runtime = ask(ctx)
		if err := a.node.Health().Err; err != nil {
			f.Problems = append(f.Problems, err.Error())
		}
		return f
	}
}

// runtimeHealth returns a function that asks the runtime whether it is ready. It returns the last
// answer and its time; the first answer counts as given now.
func runtimeHealth(rt runtime.Runtime, now func() time.Time) func(context.Context) (time.Time, runtime.RuntimeStatus) {
	seen, status := now(), runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true}
	return func(ctx context.Context) (time.Time, runtime.RuntimeStatus) {
		reporter := runtime.FeaturesOf(rt).StatusReporter
		if reporter == nil {
			return now(), status
		}
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if answer, err := reporter.RuntimeStatus(ctx); err == nil {
			seen, status = now(), answer
		}
		return seen, status
	}
}

// serveAPI answers requests until the function it returns is called. Without clients too the API
// finishes the deletions of created pods.
func (a *agent) serveAPI() (hangUp func()) {
	serve := func(ctx context.Context) error { return a.kubernetes.api.Run(ctx) }
	switch {
	case a.kubernetes.api == nil:
		return func() {}
	case a.kubernetes.service != nil:
		serve = a.kubernetes.service.Run
		a.log.Info("the Kubernetes API is served", "address", a.kubernetes.service.Address(), "kubeconfig", a.options.api.kubeconfig)
	}
	ctx, end := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := serve(ctx); err != nil {
			a.log.Error("the Kubernetes API has failed", "err", err)
		}
	}()
	return func() {
		end()
		<-done
	}
}
