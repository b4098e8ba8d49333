package request_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/runtime"
)

func fieldsOf(problems []request.Problem) []string {
	var fields []string
	for _, p := range problems {
		fields = append(fields, p.Field)
	}
	return fields
}

// Each field that needs a missing feature, and the feature that supports it.
func TestUnsupported(t *testing.T) {
	const a = "spec.containers[0]."
	exec, http := &v1.LifecycleHandler{Exec: &v1.ExecAction{}}, &v1.LifecycleHandler{HTTPGet: &v1.HTTPGetAction{}}
	probe := func(h v1.ProbeHandler) *v1.Probe { return &v1.Probe{ProbeHandler: h} }
	onExec, onGRPC := v1.ProbeHandler{Exec: &v1.ExecAction{}}, v1.ProbeHandler{GRPC: &v1.GRPCAction{}}
	for _, c := range []struct {
		change            func(*v1.PodSpec, *v1.Container)
		rejected, ignored string           // empty: neither
		with              request.Features // with these it is honoured; zero: with none
	}{
		{func(s *v1.PodSpec, _ *v1.Container) { s.Volumes = make([]v1.Volume, 1) }, "spec.volumes", "", request.Features{Volumes: true}},
		{func(s *v1.PodSpec, _ *v1.Container) { imageVolume(s) }, "spec.volumes", "", request.Features{Volumes: true, Runtime: runtime.Features{ImageMounts: runtime.ImageMountsAll}}},
		{func(s *v1.PodSpec, _ *v1.Container) { s.ActiveDeadlineSeconds = new(int64(1)) }, "spec.activeDeadlineSeconds", "", request.Features{Deadlines: true}},
		{func(s *v1.PodSpec, _ *v1.Container) { s.HostUsers = new(false) }, "spec.hostUsers", "", request.Features{}},
		{func(s *v1.PodSpec, _ *v1.Container) { s.HostUsers = new(true) }, "", "", request.Features{}},
		{func(s *v1.PodSpec, _ *v1.Container) { s.RuntimeClassName = new("kata") }, "spec.runtimeClassName", "", request.Features{Handlers: map[string]string{"kata": ""}}},
		{func(s *v1.PodSpec, _ *v1.Container) { s.ResourceClaims = make([]v1.PodResourceClaim, 1) }, "spec.resourceClaims", "", request.Features{}},
		{func(s *v1.PodSpec, _ *v1.Container) { s.HostAliases = make([]v1.HostAlias, 1) }, "spec.hostAliases", "", request.Features{Hosts: true}},
		{func(s *v1.PodSpec, _ *v1.Container) { s.SecurityContext = &v1.PodSecurityContext{} }, "", "", request.Features{}},
		{func(s *v1.PodSpec, _ *v1.Container) {
			s.SecurityContext = &v1.PodSecurityContext{SupplementalGroupsPolicy: new(v1.SupplementalGroupsPolicyStrict)}
		}, "spec.securityContext.supplementalGroupsPolicy", "", request.Features{Runtime: runtime.Features{StrictGroups: runtime.SupportFull}}},
		{func(s *v1.PodSpec, _ *v1.Container) {
			s.SecurityContext = &v1.PodSecurityContext{SupplementalGroupsPolicy: new(v1.SupplementalGroupsPolicyMerge)}
		}, "", "", request.Features{}},
		{func(s *v1.PodSpec, _ *v1.Container) {
			s.SecurityContext = &v1.PodSecurityContext{SupplementalGroupsPolicy: new(v1.SupplementalGroupsPolicy("Stricter"))}
		}, "spec.securityContext.supplementalGroupsPolicy", "", request.Features{}},
		{func(s *v1.PodSpec, _ *v1.Container) {
			s.SecurityContext = &v1.PodSecurityContext{WindowsOptions: &v1.WindowsSecurityContextOptions{}}
		}, "spec.securityContext.windowsOptions", "", request.Features{}},
		{func(s *v1.PodSpec, _ *v1.Container) {
			s.SecurityContext = &v1.PodSecurityContext{FSGroup: new(int64(1))}
		}, "", "spec.securityContext.fsGroup", request.Features{Volumes: true}},
		{func(s *v1.PodSpec, _ *v1.Container) {
			s.SecurityContext = &v1.PodSecurityContext{SELinuxChangePolicy: new(v1.SELinuxChangePolicyRecursive)}
		}, "", "spec.securityContext.seLinuxChangePolicy", request.Features{}},
		{func(_ *v1.PodSpec, c *v1.Container) { c.LivenessProbe = probe(v1.ProbeHandler{}) }, a + "livenessProbe", "", request.Features{Probes: true}},
		{func(_ *v1.PodSpec, c *v1.Container) { c.ReadinessProbe = probe(onExec) }, a + "readinessProbe", "", request.Features{Probes: true, ExecProbes: true}},
		{func(_ *v1.PodSpec, c *v1.Container) { c.StartupProbe = probe(onGRPC) }, a + "startupProbe", "", request.Features{Probes: true, GRPCProbes: true}},
		{func(_ *v1.PodSpec, c *v1.Container) { c.Lifecycle = &v1.Lifecycle{} }, "", "", request.Features{}},
		{func(_ *v1.PodSpec, c *v1.Container) { c.Lifecycle = &v1.Lifecycle{PostStart: exec} }, a + "lifecycle.postStart.exec", "", request.Features{ExecHooks: true}},
		{func(_ *v1.PodSpec, c *v1.Container) { c.Lifecycle = &v1.Lifecycle{PreStop: exec} }, a + "lifecycle.preStop.exec", "", request.Features{ExecHooks: true}},
		{func(_ *v1.PodSpec, c *v1.Container) { c.Lifecycle = &v1.Lifecycle{PreStop: http} }, a + "lifecycle.preStop.httpGet", "", request.Features{HTTPHooks: true}},
		{func(_ *v1.PodSpec, c *v1.Container) {
			c.Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{TCPSocket: &v1.TCPSocketAction{}}}
		}, a + "lifecycle.postStart.tcpSocket", "", request.Features{}},
		{func(_ *v1.PodSpec, c *v1.Container) {
			c.Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{Sleep: &v1.SleepAction{}}}
		}, "", "", request.Features{}},
		{func(_ *v1.PodSpec, c *v1.Container) { c.VolumeMounts = make([]v1.VolumeMount, 1) }, a + "volumeMounts", "", request.Features{Volumes: true}},
		{func(_ *v1.PodSpec, c *v1.Container) { c.VolumeDevices = make([]v1.VolumeDevice, 1) }, a + "volumeDevices", "", request.Features{}},
		{func(_ *v1.PodSpec, c *v1.Container) { c.Resources.Claims = make([]v1.ResourceClaim, 1) }, a + "resources.claims", "", request.Features{}},
		{func(_ *v1.PodSpec, c *v1.Container) { c.ResizePolicy = make([]v1.ContainerResizePolicy, 1) }, "", a + "resizePolicy", request.Features{}},
		{func(_ *v1.PodSpec, c *v1.Container) { c.TerminationMessagePath = "/log" }, "", a + "terminationMessagePath", request.Features{Hosts: true}},
		{func(_ *v1.PodSpec, c *v1.Container) { c.TerminationMessagePath = v1.TerminationMessagePathDefault }, "", "", request.Features{}},
		{func(_ *v1.PodSpec, c *v1.Container) {
			c.TerminationMessagePolicy = v1.TerminationMessageFallbackToLogsOnError
		}, "", a + "terminationMessagePolicy", request.Features{Logs: true}},
		{func(_ *v1.PodSpec, c *v1.Container) { c.TerminationMessagePolicy = v1.TerminationMessageReadFile }, "", "", request.Features{}},
		{func(_ *v1.PodSpec, c *v1.Container) { c.EnvFrom = make([]v1.EnvFromSource, 1) }, a + "envFrom[0]", "", request.Features{}},
		{func(_ *v1.PodSpec, c *v1.Container) {
			c.Env = []v1.EnvVar{{Name: "A", Value: "a"}, {Name: "B", ValueFrom: &v1.EnvVarSource{FileKeyRef: &v1.FileKeySelector{}}}}
		}, a + "env[1].valueFrom.fileKeyRef", "", request.Features{VolumeFiles: true}},
		{func(_ *v1.PodSpec, c *v1.Container) { c.SecurityContext = &v1.SecurityContext{} }, "", "", request.Features{}},
		{func(_ *v1.PodSpec, c *v1.Container) {
			c.SecurityContext = &v1.SecurityContext{WindowsOptions: &v1.WindowsSecurityContextOptions{}}
		}, a + "securityContext.windowsOptions", "", request.Features{}},
		{func(_ *v1.PodSpec, c *v1.Container) {
			c.SecurityContext = &v1.SecurityContext{ProcMount: new(v1.UnmaskedProcMount)}
		}, a + "securityContext.procMount", "", request.Features{}},
		{func(_ *v1.PodSpec, c *v1.Container) {
			c.SecurityContext = &v1.SecurityContext{ProcMount: new(v1.DefaultProcMount)}
		}, "", "", request.Features{}},
	} {
		pod := named(func(s *v1.PodSpec) {
			s.Containers = []v1.Container{{Name: "a"}}
			c.change(s, &s.Containers[0])
		})
		want := func(field string) []string {
			if field == "" {
				return nil
			}
			return []string{field}
		}
		rejected, ignored := request.Unsupported(pod, request.Features{})
		assert.Equal(t, want(c.rejected), fieldsOf(rejected))
		assert.Equal(t, want(c.ignored), fieldsOf(ignored))
		if !reflect.ValueOf(c.with).IsZero() {
			rejected, ignored = request.Unsupported(pod, c.with)
			assert.Empty(t, rejected, c.rejected)
			assert.Empty(t, ignored, c.ignored)
		}
	}
}

func imageVolume(s *v1.PodSpec) {
	s.Volumes = []v1.Volume{{Name: "e"}, {Name: "i", VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{}}}}
}

// The ImageMounts of the runtime decide which image volumes, and which subPaths of them, are supported.
func TestUnsupported_ImageVolumes(t *testing.T) {
	part := []v1.VolumeMount{{Name: "e", SubPath: "a"}, {Name: "i"}, {Name: "i", SubPath: "a"}, {Name: "i", SubPathExpr: "$(A)"}}
	pod := named(func(s *v1.PodSpec) {
		imageVolume(s)
		s.InitContainers = []v1.Container{{VolumeMounts: part}}
		s.Containers = []v1.Container{{}, {VolumeMounts: part}}
		s.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{VolumeMounts: part}}}
	})
	for can, want := range map[runtime.ImageMounts][]string{
		runtime.ImageMountsNone:    {"spec.volumes[1].image"},
		runtime.ImageMountsUnknown: nil,
		runtime.ImageMountsWhole: {
			"spec.initContainers[0].volumeMounts[2].subPath", "spec.initContainers[0].volumeMounts[3].subPathExpr",
			"spec.containers[1].volumeMounts[2].subPath", "spec.containers[1].volumeMounts[3].subPathExpr",
			"spec.ephemeralContainers[0].volumeMounts[2].subPath", "spec.ephemeralContainers[0].volumeMounts[3].subPathExpr",
		},
		runtime.ImageMountsAll: nil,
	} {
		rejected, _ := request.Unsupported(pod, request.Features{Volumes: true, Runtime: runtime.Features{ImageMounts: can}})
		assert.Equal(t, want, fieldsOf(rejected), can)
	}
}

// Where probes are made, those by gRPC and those that run a command may not be.
func TestUnsupported_Probes(t *testing.T) {
	for field, h := range map[string]v1.ProbeHandler{
		".exec": {Exec: &v1.ExecAction{}}, ".grpc": {GRPC: &v1.GRPCAction{}},
	} {
		pod := named(func(s *v1.PodSpec) { s.InitContainers = []v1.Container{{LivenessProbe: &v1.Probe{ProbeHandler: h}}} })
		rejected, _ := request.Unsupported(pod, request.Features{Probes: true})
		assert.Equal(t, []string{"spec.initContainers[0].livenessProbe" + field}, fieldsOf(rejected))
	}
	pod := named(func(s *v1.PodSpec) {
		s.EphemeralContainers = []v1.EphemeralContainer{{}, {TargetContainerName: "a", EphemeralContainerCommon: v1.EphemeralContainerCommon{VolumeMounts: make([]v1.VolumeMount, 1)}}}
	})
	rejected, ignored := request.Unsupported(pod, request.Features{})
	assert.Equal(t, []string{"spec.ephemeralContainers[1].volumeMounts"}, fieldsOf(rejected))
	assert.Empty(t, ignored)
	class := named(func(s *v1.PodSpec) { s.RuntimeClassName = new("kata") })
	rejected, _ = request.Unsupported(class, request.Features{Handlers: map[string]string{"gvisor": "runsc"}})
	assert.Equal(t, []request.Problem{{Field: "spec.runtimeClassName", Why: `the class "kata" is not known`}}, rejected)
	rejected, _ = request.Unsupported(named(func(s *v1.PodSpec) { s.RuntimeClassName = new("") }), request.Features{})
	assert.Empty(t, rejected, "an empty class is none, as in the kubelet")
}

// With the types of a newer API (step newest of .ci/run) a field that this version does not know is
// refused by name.
func TestUnsupported_FieldOfANewerAPI(t *testing.T) {
	pod := named(func(s *v1.PodSpec) {
		s.Volumes = make([]v1.Volume, 1)
		s.Containers = []v1.Container{{Name: "c", VolumeMounts: make([]v1.VolumeMount, 1)}}
	})
	rejected, _ := request.Unsupported(pod, request.Features{Volumes: true})
	assert.Empty(t, rejected)
	options := reflect.ValueOf(&pod.Spec.Containers[0].VolumeMounts[0]).Elem().FieldByName("BindMountOptions")
	if !options.IsValid() {
		t.Skip("the types in use have no such field")
	}
	options.Set(reflect.ValueOf([]string{"noexec"}))
	rejected, _ = request.Unsupported(pod, request.Features{Volumes: true})
	assert.Equal(t, []string{"spec.containers[0].volumeMounts[0].bindMountOptions"}, fieldsOf(rejected))
}
