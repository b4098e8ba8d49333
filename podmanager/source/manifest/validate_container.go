package manifest

import (
	"fmt"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/containers"
	"github.com/podkeel/podkeel/internal/document"
)

// containers checks all containers of a pod, and what they must not share.
func (f *findings) containers(spec *v1.PodSpec, volumes map[string]bool, at *document.Path) {
	if len(spec.Containers) == 0 {
		f.add(at.Field("containers"), "missing: expected at least one container")
	}
	names, ports := map[string]*document.Path{}, map[string]*document.Path{}
	for i := range spec.InitContainers {
		c, at := &spec.InitContainers[i], at.Field("initContainers").At(i)
		f.container(c, volumes, names, at)
		f.initContainer(c, at)
		if containers.IsSidecar(c) {
			f.hostPorts(c, spec.HostNetwork, ports, at)
		}
	}
	for i := range spec.Containers {
		c, at := &spec.Containers[i], at.Field("containers").At(i)
		f.container(c, volumes, names, at)
		f.restartRules(c, at)
		f.hostPorts(c, spec.HostNetwork, ports, at)
	}
	for i := range spec.EphemeralContainers {
		f.ephemeralContainer(&spec.EphemeralContainers[i], spec, volumes, names, at.Field("ephemeralContainers").At(i))
	}
}

// ephemeralContainer checks a container that was added to a running pod: one for
// people to look around with, of which nobody asks whether it is well.
func (f *findings) ephemeralContainer(e *v1.EphemeralContainer, spec *v1.PodSpec, volumes map[string]bool, names map[string]*document.Path, at *document.Path) {
	c := v1.Container(e.EphemeralContainerCommon)
	f.container(&c, volumes, names, at)
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"livenessProbe", c.LivenessProbe != nil},
		{"readinessProbe", c.ReadinessProbe != nil},
		{"startupProbe", c.StartupProbe != nil},
		{"lifecycle", c.Lifecycle != nil},
		{"ports", len(c.Ports) > 0},
		{"resources", len(c.Resources.Limits)+len(c.Resources.Requests) > 0},
		{"restartPolicy", c.RestartPolicy != nil},
	} {
		if field.set {
			f.add(at.Field(field.name), "set: expected none in an ephemeral container")
		}
	}
	isTarget := func(c v1.Container) bool { return c.Name == e.TargetContainerName }
	if e.TargetContainerName != "" && !slices.ContainsFunc(spec.Containers, isTarget) && !slices.ContainsFunc(spec.InitContainers, isTarget) {
		pod := (*document.Path)(nil).Field("spec")
		f.addFor([]*document.Path{pod.Field("containers"), pod.Field("initContainers")}, at.Field("targetContainerName"), "%s: expected the name of a container of the pod", document.Quote(e.TargetContainerName))
	}
}

func (f *findings) container(c *v1.Container, volumes map[string]bool, names map[string]*document.Path, at *document.Path) {
	f.named(at.Field("name"), c.Name, dnsLabel)
	if first, ok := names[c.Name]; ok && c.Name != "" {
		f.add(at.Field("name"), "%s: %s has the same name", document.Quote(c.Name), first)
	} else {
		names[c.Name] = at
	}
	f.image(at.Field("image"), c.Image)
	oneOf(f, at.Field("imagePullPolicy"), c.ImagePullPolicy, v1.PullAlways, v1.PullIfNotPresent, v1.PullNever)
	oneOf(f, at.Field("terminationMessagePolicy"), c.TerminationMessagePolicy, v1.TerminationMessageReadFile, v1.TerminationMessageFallbackToLogsOnError)
	f.ports(c.Ports, at.Field("ports"))
	f.env(c.Env, at.Field("env"))
	f.mounts(c, volumes, at)
	f.resources(&c.Resources, at.Field("resources"))
	f.probes(c, at)
	f.security(c.SecurityContext, at.Field("securityContext"))
}

func (f *findings) image(at *document.Path, image string) {
	switch {
	case image == "":
		f.add(at, "missing: expected the name of an image")
	case strings.ContainsFunc(image, func(r rune) bool { return r <= ' ' || r == 0x7F }):
		f.add(at, "%s: expected a name without spaces", document.Quote(image))
	}
}

// initContainer checks what only containers that run on may have.
func (f *findings) initContainer(c *v1.Container, at *document.Path) {
	if containers.IsSidecar(c) {
		return
	}
	f.restartRules(c, at)
	for _, given := range []struct {
		field string
		is    bool
	}{
		{"livenessProbe", c.LivenessProbe != nil},
		{"readinessProbe", c.ReadinessProbe != nil},
		{"startupProbe", c.StartupProbe != nil},
		{"lifecycle", c.Lifecycle != nil},
	} {
		if given.is {
			f.addFor([]*document.Path{at.Field("restartPolicy")}, at.Field(given.field), "set: expected none for an init container without restartPolicy Always")
		}
	}
}

// restartRules checks the restart policy of one container and its rules.
func (f *findings) restartRules(c *v1.Container, at *document.Path) {
	if c.RestartPolicy != nil {
		oneOf(f, at.Field("restartPolicy"), *c.RestartPolicy,
			v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyOnFailure, v1.ContainerRestartPolicyNever)
	} else if len(c.RestartPolicyRules) > 0 {
		f.add(at.Field("restartPolicy"), "missing: expected one with restartPolicyRules")
	}
	for i, rule := range c.RestartPolicyRules {
		at := at.Field("restartPolicyRules").At(i)
		oneOf(f, at.Field("action"), rule.Action, v1.ContainerRestartRuleActionRestart, v1.ContainerRestartRuleActionRestartAllContainers)
		if rule.ExitCodes == nil {
			f.add(at.Field("exitCodes"), "missing: expected the exit codes the rule is for")
			continue
		}
		oneOf(f, at.Fields("exitCodes", "operator"), rule.ExitCodes.Operator,
			v1.ContainerRestartRuleOnExitCodesOpIn, v1.ContainerRestartRuleOnExitCodesOpNotIn)
		if rule.ExitCodes.Operator == v1.ContainerRestartRuleOnExitCodesOpIn && len(rule.ExitCodes.Values) == 0 {
			f.add(at.Fields("exitCodes", "values"), "none: the rule is for no exit code")
		}
	}
}

func (f *findings) ports(ports []v1.ContainerPort, at *document.Path) {
	seen := map[string]int{}
	for i, p := range ports {
		at := at.At(i)
		if p.ContainerPort < 1 || p.ContainerPort > 65535 {
			f.add(at.Field("containerPort"), "%d: expected 1 to 65535", p.ContainerPort)
		}
		if p.HostPort < 0 || p.HostPort > 65535 {
			f.add(at.Field("hostPort"), "%d: expected 1 to 65535", p.HostPort)
		}
		oneOf(f, at.Field("protocol"), p.Protocol, v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP)
		if p.HostIP != "" {
			f.ip(at.Field("hostIP"), p.HostIP)
		}
		if p.Name == "" {
			continue
		}
		f.keeps(at.Field("name"), p.Name, portName)
		f.unique(at.Field("name"), p.Name, seen, i, "ports")
	}
}

// hostPorts checks that no two ports of a pod want the same port of the host.
func (f *findings) hostPorts(c *v1.Container, hostNetwork bool, taken map[string]*document.Path, at *document.Path) {
	for i, p := range c.Ports {
		ports := at.Field("ports")
		at := ports.At(i).Field("hostPort")
		if p.HostPort == 0 {
			continue
		}
		if hostNetwork && p.HostPort != p.ContainerPort {
			needs := []*document.Path{ports.At(i).Field("containerPort"), (*document.Path)(nil).Fields("spec", "hostNetwork")}
			f.addFor(needs, at, "%d: expected %d, the container port, with hostNetwork", p.HostPort, p.ContainerPort)
		}
		key := fmt.Sprint(p.HostIP, "/", p.Protocol, "/", p.HostPort)
		if first, ok := taken[key]; ok {
			f.add(at, "%d: %s is the same port of the host", p.HostPort, first)
			continue
		}
		taken[key] = at
	}
}

func (f *findings) env(env []v1.EnvVar, at *document.Path) {
	for i, e := range env {
		at := at.At(i)
		f.named(at.Field("name"), e.Name, envName)
		if e.ValueFrom == nil {
			continue
		}
		from := at.Field("valueFrom")
		if e.Value != "" {
			f.add(from, "set: expected either value or valueFrom")
		}
		f.exactlyOne(from, "a source", map[string]bool{
			"fieldRef":         e.ValueFrom.FieldRef != nil,
			"resourceFieldRef": e.ValueFrom.ResourceFieldRef != nil,
			"configMapKeyRef":  e.ValueFrom.ConfigMapKeyRef != nil,
			"secretKeyRef":     e.ValueFrom.SecretKeyRef != nil,
			"fileKeyRef":       e.ValueFrom.FileKeyRef != nil,
		})
		f.fieldRef(e.ValueFrom.FieldRef, from.Field("fieldRef"), envFields)
		f.resourceFieldRef(e.ValueFrom.ResourceFieldRef, from.Field("resourceFieldRef"))
	}
}

// exactlyOne wants one of the named fields set.
func (f *findings) exactlyOne(at *document.Path, what string, given map[string]bool) {
	var set, all []string
	for _, name := range sortedKeys(given) {
		all = append(all, name)
		if given[name] {
			set = append(set, name)
		}
	}
	switch {
	case len(all) == 0:
		f.add(at, "empty: expected %s", what)
	case len(set) == 0:
		f.add(at, "empty: expected %s, one of %s", what, strings.Join(all, ", "))
	case len(set) > 1:
		f.add(at, "%s are set: expected one of them", strings.Join(set, " and "))
	}
}

func (f *findings) mounts(c *v1.Container, volumes map[string]bool, at *document.Path) {
	paths := map[string]int{}
	for i, m := range c.VolumeMounts {
		at := at.Field("volumeMounts").At(i)
		f.volumeName(at.Field("name"), m.Name, volumes)
		switch {
		case m.MountPath == "":
			f.add(at.Field("mountPath"), "missing: expected a path in the container")
		case strings.Contains(m.MountPath, ":"):
			f.add(at.Field("mountPath"), "%s: expected a path without ':'", document.Quote(m.MountPath))
		default:
			if first, ok := paths[path.Clean(m.MountPath)]; ok {
				f.add(at.Field("mountPath"), "%s: volumeMounts[%d] is mounted there", document.Quote(m.MountPath), first)
			} else {
				paths[path.Clean(m.MountPath)] = i
			}
		}
		f.subPath(at.Field("subPath"), m.SubPath)
		f.subPath(at.Field("subPathExpr"), m.SubPathExpr)
		if m.SubPath != "" && m.SubPathExpr != "" {
			f.add(at.Field("subPathExpr"), "set: expected either subPath or subPathExpr")
		}
	}
	for i, d := range c.VolumeDevices {
		at := at.Field("volumeDevices").At(i)
		f.volumeName(at.Field("name"), d.Name, volumes)
		if d.DevicePath == "" {
			f.add(at.Field("devicePath"), "missing: expected a path in the container")
		}
	}
}

func (f *findings) volumeName(at *document.Path, name string, volumes map[string]bool) {
	switch {
	case name == "":
		f.add(at, "missing: expected the name of a volume")
	case !volumes[name]:
		f.addFor([]*document.Path{(*document.Path)(nil).Fields("spec", "volumes")}, at, "%s: the pod has no volume of this name", document.Quote(name))
	}
}

// subPath must stay within the volume (F28).
func (f *findings) subPath(at *document.Path, sub string) {
	if sub == "" {
		return
	}
	if strings.HasPrefix(sub, "/") || upwards(sub) {
		f.add(at, "%s: expected a relative path without '..'", document.Quote(sub))
	}
}

func upwards(p string) bool {
	for part := range strings.SplitSeq(strings.ReplaceAll(p, `\`, "/"), "/") {
		if part == ".." {
			return true
		}
	}
	return false
}

func (f *findings) security(s *v1.SecurityContext, at *document.Path) {
	if s == nil {
		return
	}
	within(f, at.Field("runAsUser"), s.RunAsUser, 0)
	within(f, at.Field("runAsGroup"), s.RunAsGroup, 0)
	f.profiles(s.SeccompProfile, s.AppArmorProfile, at)
	if s.Privileged != nil && *s.Privileged && s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation {
		f.addFor([]*document.Path{at.Field("privileged")}, at.Field("allowPrivilegeEscalation"), "false: expected true with privileged")
	}
}
