package cri_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"k8s.io/apimachinery/pkg/types"
	criv1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri"
	"github.com/podkeel/podkeel/runtime/memory"
)

// fake is a runtime that speaks CRI, with the habits of containerd, over a
// machine in memory. What CRI knows and the machine does not it keeps itself.
type fake struct {
	criv1.UnimplementedRuntimeServiceServer
	criv1.UnimplementedImageServiceServer
	m *memory.Runtime
	// is what it says of itself; empty: fake and 1. It is set before the first call.
	is struct {
		name, version string
		handlers      []*criv1.RuntimeHandler
		strict        bool
		driver        *criv1.RuntimeConfigResponse
	}

	mu         sync.Mutex
	sandboxes  map[string]*criv1.RunPodSandboxRequest
	coming     map[types.UID]*criv1.RunPodSandboxRequest // sandboxes that are being made
	containers map[string]*criv1.CreateContainerRequest
	calls      []string
	requests   []any
	// instead may answer a call, which has no effect then; after may change the
	// answer of one that has had its effect.
	instead func(ctx context.Context, method string, req any) (res any, err error)
	after   func(method string, req, res any) (any, error)
	// events, if there, is the stream of events; parts has lists sent in parts,
	// and longParts in one that is too long.
	parts, longParts bool
	// streams are the addresses of the streaming server; instance is every process,
	// if it is there.
	streams  map[string]readListStream
	instance func(context.Context, runtime.Streams) (int32, error)
	events   func(stream grpc.ServerStreamingServer[criv1.ContainerEventResponse]) error
}

// fakeServer is a fake that listens, and may go away and come back.
type fakeServer struct {
	*fake
	t  *testing.T
	mu sync.Mutex
	l  *bufconn.Listener // nil: it is away
	s  *grpc.Server
	up chan error

	streamed *pipes
	web      *http.Server
}

func newFake(t *testing.T) *fakeServer {
	m := memory.New(memory.Config{})
	m.FailPulls("nowhere.invalid/none", errors.New("no such registry"))
	s := &fakeServer{t: t, fake: &fake{m: m, sandboxes: map[string]*criv1.RunPodSandboxRequest{}, coming: map[types.UID]*criv1.RunPodSandboxRequest{}, containers: map[string]*criv1.CreateContainerRequest{}, streams: map[string]readListStream{}}}
	s.start()
	t.Cleanup(s.stop)
	return s
}

func (s *fakeServer) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.l = bufconn.Listen(1 << 20)
	s.s = grpc.NewServer(grpc.ChainUnaryInterceptor(s.unary), grpc.ChainStreamInterceptor(s.stream))
	criv1.RegisterRuntimeServiceServer(s.s, s.fake)
	criv1.RegisterImageServiceServer(s.s, s.fake)
	s.up = make(chan error, 1)
	go func(l net.Listener, srv *grpc.Server, up chan error) { up <- srv.Serve(l) }(s.l, s.s, s.up)
	s.streamed, s.web = newPipes(), &http.Server{Handler: s.fake}
	go func(l net.Listener, srv *http.Server) { _ = srv.Serve(l) }(s.streamed, s.web)
}

func (s *fakeServer) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.l == nil {
		return
	}
	_ = s.web.Close()
	s.s.Stop()
	<-s.up
	s.l = nil
}

func (s *fakeServer) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	s.mu.Lock()
	l := s.l
	streamed := s.streamed
	s.mu.Unlock()
	if l == nil {
		return nil, errors.New("no such socket")
	}
	if network == "tcp" {
		return streamed.DialContext(ctx)
	}
	return l.DialContext(ctx)
}

// client is an agent of an owner.
func (s *fakeServer) client(owner string, change ...func(*cri.Config)) *cri.Runtime {
	cfg := cri.Config{Endpoint: "/run/fake.sock", Owner: owner, DialContext: s.dial}
	for _, f := range change {
		f(&cfg)
	}
	r, err := cri.New(cfg)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, r.Close()) })
	return r
}

func (f *fake) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	method := info.FullMethod[slices.Index([]byte(info.FullMethod[1:]), '/')+2:]
	f.mu.Lock()
	instead, after := f.instead, f.after
	f.calls = append(f.calls, method)
	f.requests = append(f.requests, req)
	f.mu.Unlock()
	if instead != nil {
		if res, err := instead(ctx, method, req); res != nil || err != nil {
			return res, err
		}
	}
	res, err := handle(ctx, req)
	if err == nil && after != nil {
		return after(method, req, res)
	}
	return res, err
}

func (f *fake) stream(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	method := info.FullMethod[slices.Index([]byte(info.FullMethod[1:]), '/')+2:]
	f.mu.Lock()
	instead := f.instead
	f.calls = append(f.calls, method)
	f.mu.Unlock()
	if instead != nil {
		if _, err := instead(s.Context(), method, nil); err != nil {
			return err
		}
	}
	return handle(srv, s)
}

func (f *fake) onInstead(g func(ctx context.Context, method string, req any) (any, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.instead = g
}

// fails has one verb fail without effect.
func (f *fake) fails(verb string, err error) {
	f.onInstead(func(_ context.Context, method string, _ any) (any, error) {
		if method == verb {
			return nil, err
		}
		return nil, nil
	})
}

// loses has one verb succeed and its reply be another.
func (f *fake) loses(verb string, err error) {
	f.onAfter(func(method string, _, res any) (any, error) {
		if method == verb {
			return nil, err
		}
		return res, nil
	})
}

// last is the last request of a verb.
func last[Q any](f *fake) (q Q) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.requests {
		if r, ok := r.(Q); ok {
			q = r
		}
	}
	return q
}

func (f *fake) onAfter(g func(method string, req, res any) (any, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.after = g
}

// called counts calls of a verb.
func (f *fake) called(method string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if c == method {
			n++
		}
	}
	return n
}

// unknown is an error without a code, as containerd has for most things.
func unknown(format string, args ...any) error {
	return status.Errorf(codes.Unknown, format, args...)
}

// coded is containerd's code for an error of the machine.
func coded(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, runtime.ErrNotFound):
		return status.Error(codes.NotFound, err.Error())
	case errors.Is(err, runtime.ErrNotReady):
		return status.Error(codes.Unavailable, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, err.Error())
	}
	return unknown("%v", err)
}

func (f *fake) Version(context.Context, *criv1.VersionRequest) (*criv1.VersionResponse, error) {
	return &criv1.VersionResponse{Version: "0.1.0", RuntimeName: cmp.Or(f.is.name, "fake"), RuntimeVersion: cmp.Or(f.is.version, "1"), RuntimeApiVersion: "v1"}, nil
}

func (f *fake) RuntimeConfig(context.Context, *criv1.RuntimeConfigRequest) (*criv1.RuntimeConfigResponse, error) {
	if f.is.driver == nil {
		return nil, status.Error(codes.Unimplemented, "unknown method RuntimeConfig")
	}
	return f.is.driver, nil
}

func (f *fake) Status(ctx context.Context, _ *criv1.StatusRequest) (*criv1.StatusResponse, error) {
	st, err := f.m.RuntimeStatus(ctx)
	return &criv1.StatusResponse{Features: &criv1.RuntimeFeatures{SupplementalGroupsPolicy: f.is.strict}, RuntimeHandlers: f.is.handlers, Status: &criv1.RuntimeStatus{Conditions: []*criv1.RuntimeCondition{
		{Type: criv1.RuntimeReady, Status: st.RuntimeReady, Message: st.RuntimeMessage},
		{Type: criv1.NetworkReady, Status: st.NetworkReady, Message: st.NetworkMessage},
	}}}, coded(err)
}

func (f *fake) RunPodSandbox(ctx context.Context, req *criv1.RunPodSandboxRequest) (*criv1.RunPodSandboxResponse, error) {
	c := req.GetConfig()
	uid := types.UID(c.Metadata.Uid)
	f.mu.Lock()
	f.coming[uid] = req
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.coming, uid)
	}()
	id, err := f.m.RunSandbox(ctx, runtime.RunSandboxRequest{
		Pod: runtime.PodRef{UID: uid, Name: c.Metadata.Name, Namespace: c.Metadata.Namespace}, Attempt: c.Metadata.Attempt,
		Annotations: c.Annotations, Namespaces: runtime.Namespaces{HostNetwork: c.GetLinux().GetSecurityContext().GetNamespaceOptions().GetNetwork() == criv1.NamespaceMode_NODE},
	})
	if errors.Is(err, runtime.ErrExists) {
		return nil, unknown("failed to reserve sandbox name %q: name %q is reserved for %q", c.Metadata.Name, c.Metadata.Name, "x")
	}
	if err != nil {
		return nil, coded(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sandboxes[id] = req
	return &criv1.RunPodSandboxResponse{PodSandboxId: id}, nil
}

func (f *fake) StopPodSandbox(ctx context.Context, req *criv1.StopPodSandboxRequest) (*criv1.StopPodSandboxResponse, error) {
	err := f.m.StopSandbox(ctx, runtime.StopSandboxRequest{SandboxID: req.PodSandboxId})
	if errors.Is(err, runtime.ErrNotFound) {
		err = nil
	}
	return &criv1.StopPodSandboxResponse{}, coded(err)
}

func (f *fake) RemovePodSandbox(ctx context.Context, req *criv1.RemovePodSandboxRequest) (*criv1.RemovePodSandboxResponse, error) {
	if err := f.m.RemoveSandbox(ctx, runtime.RemoveSandboxRequest{SandboxID: req.PodSandboxId}); err != nil {
		return nil, coded(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.sandboxes, req.PodSandboxId)
	for id, c := range f.containers {
		if c.PodSandboxId == req.PodSandboxId {
			delete(f.containers, id)
		}
	}
	return &criv1.RemovePodSandboxResponse{}, nil
}

// find looks a pod of the machine up by one of its sandboxes.
func (f *fake) find(ctx context.Context, sandbox string) (*criv1.RunPodSandboxRequest, runtime.SandboxStatus, []runtime.ContainerStatus, error) {
	f.mu.Lock()
	req := f.sandboxes[sandbox]
	f.mu.Unlock()
	if req == nil {
		return nil, runtime.SandboxStatus{}, nil, status.Errorf(codes.NotFound, "sandbox %q", sandbox)
	}
	st, err := f.m.PodStatus(ctx, types.UID(req.Config.Metadata.Uid))
	if err != nil {
		return nil, runtime.SandboxStatus{}, nil, coded(err)
	}
	for _, s := range st.Sandboxes {
		if s.ID == sandbox {
			return req, s, st.Containers, nil
		}
	}
	return nil, runtime.SandboxStatus{}, nil, status.Errorf(codes.NotFound, "sandbox %q", sandbox)
}

func ready(s runtime.SandboxStatus) criv1.PodSandboxState {
	if s.Ready {
		return criv1.PodSandboxState_SANDBOX_READY
	}
	return criv1.PodSandboxState_SANDBOX_NOTREADY
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func (f *fake) PodSandboxStatus(ctx context.Context, req *criv1.PodSandboxStatusRequest) (*criv1.PodSandboxStatusResponse, error) {
	r, s, _, err := f.find(ctx, req.PodSandboxId)
	if err != nil {
		return nil, err
	}
	out := &criv1.PodSandboxStatus{
		Id: s.ID, Metadata: r.Config.Metadata, State: ready(s), CreatedAt: nanos(s.CreatedAt), RuntimeHandler: r.RuntimeHandler,
		Labels: r.Config.Labels, Annotations: r.Config.Annotations, Network: &criv1.PodSandboxNetworkStatus{},
		Linux: &criv1.LinuxPodSandboxStatus{Namespaces: &criv1.Namespace{Options: r.Config.GetLinux().GetSecurityContext().GetNamespaceOptions()}},
	}
	if len(s.IPs) > 0 {
		out.Network.Ip = s.IPs[0]
	}
	return &criv1.PodSandboxStatusResponse{Status: out}, nil
}

func matches(labels, selector map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return true
}

func (f *fake) ListPodSandbox(ctx context.Context, req *criv1.ListPodSandboxRequest) (*criv1.ListPodSandboxResponse, error) {
	f.mu.Lock()
	ids := make([]string, 0, len(f.sandboxes))
	for id := range f.sandboxes {
		ids = append(ids, id)
	}
	f.mu.Unlock()
	slices.Sort(ids)
	res := &criv1.ListPodSandboxResponse{}
	for _, id := range ids {
		r, s, _, err := f.find(ctx, id)
		if status.Code(err) == codes.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		fl := req.GetFilter()
		if fl.GetId() != "" && fl.GetId() != id || fl.GetState() != nil && fl.GetState().State != ready(s) || !matches(r.Config.Labels, fl.GetLabelSelector()) {
			continue
		}
		res.Items = append(res.Items, &criv1.PodSandbox{
			Id: id, Metadata: r.Config.Metadata, State: ready(s), CreatedAt: nanos(s.CreatedAt),
			Labels: r.Config.Labels, Annotations: r.Config.Annotations, RuntimeHandler: r.RuntimeHandler,
		})
	}
	return res, nil
}

func (f *fake) CreateContainer(ctx context.Context, req *criv1.CreateContainerRequest) (*criv1.CreateContainerResponse, error) {
	sandbox, _, _, err := f.find(ctx, req.PodSandboxId)
	if err != nil {
		return nil, err
	}
	c, m := req.Config, sandbox.Config.Metadata
	id, err := f.m.CreateContainer(ctx, runtime.CreateContainerRequest{
		Pod: runtime.PodRef{UID: types.UID(m.Uid), Name: m.Name, Namespace: m.Namespace}, SandboxID: req.PodSandboxId,
		Name: c.Metadata.Name, Attempt: c.Metadata.Attempt, Image: c.Image.Image, ImageRef: c.Image.Image,
		Command: c.Command, Args: c.Args, Annotations: c.Annotations, Mounts: imagesOf(c.Mounts), Security: userOf(c.GetLinux().GetSecurityContext()),
	})
	if errors.Is(err, runtime.ErrExists) {
		return nil, unknown("failed to reserve container name %q: name %q is reserved for %q", c.Metadata.Name, c.Metadata.Name, "x")
	}
	if err != nil {
		return nil, coded(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.containers[id] = req
	return &criv1.CreateContainerResponse{ContainerId: id}, nil
}

// record finds a container of the machine.
func (f *fake) record(ctx context.Context, id string) (*criv1.CreateContainerRequest, runtime.ContainerStatus, error) {
	f.mu.Lock()
	req := f.containers[id]
	f.mu.Unlock()
	if req == nil {
		return nil, runtime.ContainerStatus{}, status.Errorf(codes.NotFound, "container %q", id)
	}
	_, _, all, err := f.find(ctx, req.PodSandboxId)
	if err != nil {
		return nil, runtime.ContainerStatus{}, err
	}
	for _, c := range all {
		if c.ID == id {
			return req, c, nil
		}
	}
	return nil, runtime.ContainerStatus{}, status.Errorf(codes.NotFound, "container %q", id)
}

var states = map[runtime.State]criv1.ContainerState{
	runtime.StateCreated: criv1.ContainerState_CONTAINER_CREATED, runtime.StateRunning: criv1.ContainerState_CONTAINER_RUNNING,
	runtime.StateExited: criv1.ContainerState_CONTAINER_EXITED, runtime.StateUnknown: criv1.ContainerState_CONTAINER_UNKNOWN,
}

func (f *fake) StartContainer(ctx context.Context, req *criv1.StartContainerRequest) (*criv1.StartContainerResponse, error) {
	_, c, err := f.record(ctx, req.ContainerId)
	if err != nil {
		return nil, err
	}
	if c.State != runtime.StateCreated {
		return nil, unknown("container is in %s state", states[c.State])
	}
	err = f.m.StartContainer(ctx, runtime.StartContainerRequest{ContainerID: req.ContainerId})
	return &criv1.StartContainerResponse{}, coded(err)
}

func (f *fake) StopContainer(ctx context.Context, req *criv1.StopContainerRequest) (*criv1.StopContainerResponse, error) {
	err := f.m.StopContainer(ctx, runtime.StopContainerRequest{ContainerID: req.ContainerId, Grace: time.Duration(req.Timeout) * time.Second})
	if errors.Is(err, runtime.ErrNotFound) {
		err = nil
	}
	return &criv1.StopContainerResponse{}, coded(err)
}

func (f *fake) RemoveContainer(ctx context.Context, req *criv1.RemoveContainerRequest) (*criv1.RemoveContainerResponse, error) {
	_ = f.m.StopContainer(ctx, runtime.StopContainerRequest{ContainerID: req.ContainerId}) // CRI removes what runs, too.
	err := f.m.RemoveContainer(ctx, runtime.RemoveContainerRequest{ContainerID: req.ContainerId})
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.containers, req.ContainerId)
	}
	return &criv1.RemoveContainerResponse{}, coded(err)
}

func (f *fake) ListContainers(ctx context.Context, req *criv1.ListContainersRequest) (*criv1.ListContainersResponse, error) {
	f.mu.Lock()
	ids := make([]string, 0, len(f.containers))
	for id := range f.containers {
		ids = append(ids, id)
	}
	f.mu.Unlock()
	slices.Sort(ids)
	res := &criv1.ListContainersResponse{}
	for _, id := range ids {
		r, c, err := f.record(ctx, id)
		if status.Code(err) == codes.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		fl := req.GetFilter()
		if fl.GetId() != "" && fl.GetId() != id || fl.GetPodSandboxId() != "" && fl.GetPodSandboxId() != r.PodSandboxId ||
			fl.GetState() != nil && fl.GetState().State != states[c.State] || !matches(r.Config.Labels, fl.GetLabelSelector()) {
			continue
		}
		res.Containers = append(res.Containers, &criv1.Container{
			Id: id, PodSandboxId: r.PodSandboxId, Metadata: r.Config.Metadata, Image: r.Config.Image, ImageRef: c.ImageRef,
			State: states[c.State], CreatedAt: nanos(c.CreatedAt), Labels: r.Config.Labels, Annotations: r.Config.Annotations,
		})
	}
	return res, nil
}

// imagesOf are the mounts of images, which the machine knows.
func imagesOf(all []*criv1.Mount) (mounts []runtime.Mount) {
	for _, m := range all {
		if image := m.GetImage().GetImage(); image != "" {
			mounts = append(mounts, runtime.Mount{ContainerPath: m.ContainerPath, HostPath: m.HostPath, ReadOnly: m.Readonly, Image: image, ImageSubPath: m.ImageSubPath})
		}
	}
	return mounts
}

// userOf is the user of a security context, and its groups, which the machine reports.
func userOf(s *criv1.LinuxContainerSecurityContext) (user runtime.Security) {
	if s.GetRunAsUser() != nil {
		user.User, user.SupplementalGroups = &s.RunAsUser.Value, s.SupplementalGroups
	}
	if s.GetRunAsGroup() != nil {
		user.Group = &s.RunAsGroup.Value
	}
	return user
}

func (f *fake) ContainerStatus(ctx context.Context, req *criv1.ContainerStatusRequest) (*criv1.ContainerStatusResponse, error) {
	r, c, err := f.record(ctx, req.ContainerId)
	if err != nil {
		return nil, err
	}
	log, err := f.logged(ctx, req.ContainerId, r, !c.StartedAt.IsZero())
	if err != nil {
		return nil, coded(err)
	}
	var user *criv1.ContainerUser
	if c.User != nil {
		user = &criv1.ContainerUser{Linux: &criv1.LinuxContainerUser{Uid: c.User.UID, Gid: c.User.GID, SupplementalGroups: c.User.SupplementalGroups}}
	}
	return &criv1.ContainerStatusResponse{Status: &criv1.ContainerStatus{
		User: user, Id: c.ID, LogPath: log, Metadata: r.Config.Metadata, State: states[c.State], CreatedAt: nanos(c.CreatedAt), StartedAt: nanos(c.StartedAt),
		FinishedAt: nanos(c.FinishedAt), ExitCode: c.ExitCode, Image: r.Config.Image, ImageRef: cmp.Or(c.ImageRef, c.Image),
		Reason: c.Reason, Message: c.Message, Labels: r.Config.Labels, Annotations: r.Config.Annotations, Mounts: r.Config.Mounts,
	}}, nil
}

func (f *fake) UpdateContainerResources(ctx context.Context, req *criv1.UpdateContainerResourcesRequest) (*criv1.UpdateContainerResourcesResponse, error) {
	err := f.m.UpdateContainer(ctx, runtime.UpdateContainerRequest{ContainerID: req.ContainerId})
	return &criv1.UpdateContainerResourcesResponse{}, coded(err)
}

func (f *fake) ReopenContainerLog(ctx context.Context, req *criv1.ReopenContainerLogRequest) (*criv1.ReopenContainerLogResponse, error) {
	_, c, err := f.record(ctx, req.ContainerId)
	switch {
	case err != nil:
		return nil, err
	case c.State != runtime.StateRunning:
		return nil, errors.New("container is not running") // As containerd says it: without a code.
	}
	return &criv1.ReopenContainerLogResponse{}, nil
}

func (f *fake) ExecSync(ctx context.Context, req *criv1.ExecSyncRequest) (*criv1.ExecSyncResponse, error) {
	if req.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(req.Timeout)*time.Second)
		defer cancel()
	}
	res, err := f.m.Exec(ctx, runtime.ExecRequest{ContainerID: req.ContainerId, Command: req.Cmd, OutputLimit: 1 << 20})
	return &criv1.ExecSyncResponse{Stdout: res.Output, ExitCode: res.ExitCode}, coded(err)
}

func (f *fake) ListContainerStats(ctx context.Context, req *criv1.ListContainerStatsRequest) (*criv1.ListContainerStatsResponse, error) {
	stats, err := f.m.PodStats(ctx, types.UID(req.GetFilter().GetLabelSelector()["io.kubernetes.pod.uid"]))
	res := &criv1.ListContainerStatsResponse{}
	for _, s := range stats.Containers {
		res.Stats = append(res.Stats, &criv1.ContainerStats{
			Attributes:    &criv1.ContainerAttributes{Id: s.ContainerID, Metadata: &criv1.ContainerMetadata{Name: s.Name}},
			Cpu:           &criv1.CpuUsage{Timestamp: nanos(s.CPU.At), UsageCoreNanoSeconds: value(s.CPU.UsageCoreNanoSeconds)},
			Memory:        &criv1.MemoryUsage{Timestamp: nanos(s.Memory.At), WorkingSetBytes: value(s.Memory.WorkingSetBytes), AvailableBytes: &criv1.UInt64Value{}},
			WritableLayer: &criv1.FilesystemUsage{Timestamp: nanos(s.Filesystem.At), UsedBytes: value(s.Filesystem.UsedBytes)},
		})
	}
	return res, coded(err)
}

func value(v *uint64) *criv1.UInt64Value {
	if v == nil {
		return nil
	}
	return &criv1.UInt64Value{Value: *v}
}

func (f *fake) PodSandboxStats(ctx context.Context, req *criv1.PodSandboxStatsRequest) (*criv1.PodSandboxStatsResponse, error) {
	r, s, _, err := f.find(ctx, req.PodSandboxId)
	if err != nil {
		return nil, err
	}
	stats, err := f.m.PodStats(ctx, types.UID(r.Config.Metadata.Uid))
	linux := &criv1.LinuxPodSandboxStats{}
	if n := stats.Network; n != nil {
		i := n.Interfaces[0]
		linux.Network = &criv1.NetworkUsage{Timestamp: nanos(n.At), DefaultInterface: &criv1.NetworkInterfaceUsage{
			Name: i.Name, RxBytes: value(i.RxBytes), TxBytes: value(i.TxBytes),
		}}
	}
	return &criv1.PodSandboxStatsResponse{Stats: &criv1.PodSandboxStats{Attributes: &criv1.PodSandboxAttributes{Id: s.ID}, Linux: linux}}, coded(err)
}

func (f *fake) GetContainerEvents(_ *criv1.GetEventsRequest, stream grpc.ServerStreamingServer[criv1.ContainerEventResponse]) error {
	f.mu.Lock()
	events := f.events
	f.mu.Unlock()
	if events != nil {
		return events(stream)
	}
	var mu sync.Mutex
	var last []runtime.Event
	wake := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(stream.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = f.m.Events(ctx, func(e runtime.Event) {
			mu.Lock()
			last = append(last, e)
			mu.Unlock()
			select {
			case wake <- struct{}{}:
			default:
			}
		})
	}()
	defer func() { cancel(); <-ended }()
	for {
		select {
		case <-ctx.Done():
			return coded(ctx.Err())
		case <-wake:
		}
		mu.Lock()
		batch := last
		last = nil
		mu.Unlock()
		for _, e := range batch {
			if err := stream.Send(f.event(ctx, e)); err != nil {
				return err
			}
		}
	}
}

// sandboxOf returns a sandbox of a pod, also one in creation. It is empty if there is none.
func (f *fake) sandboxOf(uid types.UID) (sandbox string, coming *criv1.RunPodSandboxRequest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, s := range f.sandboxes {
		if s.Config.Metadata.Uid == string(uid) {
			sandbox = id
		}
	}
	return sandbox, f.coming[uid]
}

// event returns an event with the status of its sandbox, if the sandbox still exists.
func (f *fake) event(ctx context.Context, e runtime.Event) *criv1.ContainerEventResponse {
	out := &criv1.ContainerEventResponse{ContainerId: e.ContainerID, CreatedAt: nanos(e.At)}
	sandbox, coming := f.sandboxOf(e.UID)
	if coming != nil { // The machine tells of a new sandbox before RunPodSandbox has its ID.
		c := coming.GetConfig()
		out.PodSandboxStatus = &criv1.PodSandboxStatus{Metadata: c.Metadata, Labels: c.Labels, Annotations: c.Annotations}
	}
	if res, err := f.PodSandboxStatus(ctx, &criv1.PodSandboxStatusRequest{PodSandboxId: sandbox}); err == nil {
		out.PodSandboxStatus = res.Status
	}
	out.ContainerId = cmp.Or(out.ContainerId, sandbox, fmt.Sprint("gone-", e.UID))
	return out
}

// inParts is nil if lists are sent in parts.
func (f *fake) inParts() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.longParts:
		return status.Error(codes.ResourceExhausted, "message larger than max")
	case !f.parts:
		return status.Error(codes.Unimplemented, "no streams")
	}
	return nil
}

func (f *fake) StreamPodSandboxes(req *criv1.StreamPodSandboxesRequest, stream grpc.ServerStreamingServer[criv1.StreamPodSandboxesResponse]) error {
	if err := f.inParts(); err != nil {
		return err
	}
	list, err := f.ListPodSandbox(stream.Context(), &criv1.ListPodSandboxRequest{Filter: req.Filter})
	for _, s := range list.GetItems() {
		err = errors.Join(err, stream.Send(&criv1.StreamPodSandboxesResponse{PodSandboxes: []*criv1.PodSandbox{s}}))
	}
	return err
}

func (f *fake) StreamContainers(req *criv1.StreamContainersRequest, stream grpc.ServerStreamingServer[criv1.StreamContainersResponse]) error {
	if err := f.inParts(); err != nil {
		return err
	}
	list, err := f.ListContainers(stream.Context(), &criv1.ListContainersRequest{Filter: req.Filter})
	for _, c := range list.GetContainers() {
		err = errors.Join(err, stream.Send(&criv1.StreamContainersResponse{Containers: []*criv1.Container{c}}))
	}
	return err
}

func (f *fake) PullImage(ctx context.Context, req *criv1.PullImageRequest) (*criv1.PullImageResponse, error) {
	ref, err := f.m.PullImage(ctx, runtime.PullImageRequest{Image: req.Image.Image})
	return &criv1.PullImageResponse{ImageRef: ref}, coded(err)
}

func image(i runtime.Image) *criv1.Image {
	return &criv1.Image{Id: i.ID, RepoTags: i.Tags, RepoDigests: i.Digests, Size: i.SizeBytes, Pinned: i.Pinned}
}

func (f *fake) ImageStatus(ctx context.Context, req *criv1.ImageStatusRequest) (*criv1.ImageStatusResponse, error) {
	i, err := f.m.ImageStatus(ctx, runtime.ImageStatusRequest{Image: req.Image.Image})
	if errors.Is(err, runtime.ErrNotFound) {
		return &criv1.ImageStatusResponse{}, nil
	}
	return &criv1.ImageStatusResponse{Image: image(i)}, coded(err)
}

func (f *fake) ListImages(ctx context.Context, _ *criv1.ListImagesRequest) (*criv1.ListImagesResponse, error) {
	all, err := f.m.ListImages(ctx)
	res := &criv1.ListImagesResponse{}
	for _, i := range all {
		res.Images = append(res.Images, image(i))
	}
	return res, coded(err)
}

func (f *fake) RemoveImage(ctx context.Context, req *criv1.RemoveImageRequest) (*criv1.RemoveImageResponse, error) {
	return &criv1.RemoveImageResponse{}, coded(f.m.RemoveImage(ctx, runtime.RemoveImageRequest{Image: req.Image.Image}))
}

func (f *fake) ImageFsInfo(context.Context, *criv1.ImageFsInfoRequest) (*criv1.ImageFsInfoResponse, error) {
	return &criv1.ImageFsInfoResponse{ImageFilesystems: []*criv1.FilesystemUsage{{
		Timestamp: 1, FsId: &criv1.FilesystemIdentifier{Mountpoint: "/var/lib/fake"}, UsedBytes: &criv1.UInt64Value{Value: 7}, InodesUsed: &criv1.UInt64Value{Value: 3},
	}}}, nil
}
