package validation

import (
	"fmt"
	"maps"
	"path"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/internal/podspec"
)

// containers checks all containers of a pod, and what they must not share.
func (f *findings) containers(spec *v1.PodSpec, volumes map[string]bool, at *field.Path) {
	if len(spec.Containers) == 0 {
		f.required(at.Child("containers"), "expected at least one container")
	}
	names, ports := map[string]*field.Path{}, map[string]*field.Path{}
	for i := range spec.InitContainers {
		c, at := &spec.InitContainers[i], at.Child("initContainers").Index(i)
		f.container(c, volumes, names, at)
		f.initContainer(c, at)
		if podspec.IsSidecar(c) {
			f.hostPorts(c, spec.HostNetwork, ports, at)
		}
	}
	for i := range spec.Containers {
		c, at := &spec.Containers[i], at.Child("containers").Index(i)
		f.container(c, volumes, names, at)
		f.restartRules(c, at)
		f.hostPorts(c, spec.HostNetwork, ports, at)
	}
	targets := maps.Clone(names)
	for i := range spec.EphemeralContainers {
		f.ephemeralContainer(&spec.EphemeralContainers[i], targets, volumes, names, at.Child("ephemeralContainers").Index(i))
	}
}

// ephemeralContainer checks a container that was added to a running pod: one for
// people to look around with, of which nobody asks whether it is well.
func (f *findings) ephemeralContainer(e *v1.EphemeralContainer, targets map[string]*field.Path, volumes map[string]bool, names map[string]*field.Path, at *field.Path) {
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
			f.forbidden(at.Child(field.name), "expected none in an ephemeral container")
		}
	}
	if e.TargetContainerName != "" && targets[e.TargetContainerName] == nil {
		pod := field.NewPath("spec")
		f.ifRead(pod.Child("containers"), pod.Child("initContainers")).notFound(at.Child("targetContainerName"), e.TargetContainerName, "expected the name of a container of the pod")
	}
}

func (f *findings) container(c *v1.Container, volumes map[string]bool, names map[string]*field.Path, at *field.Path) {
	f.named(at.Child("name"), c.Name, dnsLabel)
	if first, ok := names[c.Name]; ok && c.Name != "" {
		f.duplicate(at.Child("name"), c.Name, "%s has the same name", first)
	} else {
		names[c.Name] = at
	}
	f.image(at.Child("image"), c.Image)
	oneOf(f, at.Child("imagePullPolicy"), c.ImagePullPolicy, v1.PullAlways, v1.PullIfNotPresent, v1.PullNever)
	oneOf(f, at.Child("terminationMessagePolicy"), c.TerminationMessagePolicy, v1.TerminationMessageReadFile, v1.TerminationMessageFallbackToLogsOnError)
	f.ports(c.Ports, at.Child("ports"))
	f.env(c.Env, at.Child("env"))
	f.mounts(c, volumes, at)
	f.resources(&c.Resources, at.Child("resources"))
	f.probes(c, at)
	f.security(c.SecurityContext, at.Child("securityContext"))
}

func (f *findings) image(at *field.Path, image string) {
	if image == "" {
		f.required(at, "expected the name of an image")
	} else if strings.ContainsFunc(image, func(r rune) bool { return r <= ' ' || r == 0x7F }) {
		f.invalid(at, image, "expected a name without spaces")
	}
}

// initContainer checks what only containers that run on may have.
func (f *findings) initContainer(c *v1.Container, at *field.Path) {
	if podspec.IsSidecar(c) {
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
			f.ifRead(at.Child("restartPolicy")).forbidden(at.Child(given.field), "expected none for an init container without restartPolicy Always")
		}
	}
}

// restartRules checks the restart policy of one container and its rules.
func (f *findings) restartRules(c *v1.Container, at *field.Path) {
	if c.RestartPolicy != nil {
		oneOf(f, at.Child("restartPolicy"), *c.RestartPolicy,
			v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyOnFailure, v1.ContainerRestartPolicyNever)
	} else if len(c.RestartPolicyRules) > 0 {
		f.required(at.Child("restartPolicy"), "expected one with restartPolicyRules")
	}
	for i, rule := range c.RestartPolicyRules {
		at := at.Child("restartPolicyRules").Index(i)
		oneOf(f, at.Child("action"), rule.Action, v1.ContainerRestartRuleActionRestart, v1.ContainerRestartRuleActionRestartAllContainers)
		if rule.ExitCodes == nil {
			f.required(at.Child("exitCodes"), "expected the exit codes the rule is for")
			continue
		}
		oneOf(f, at.Child("exitCodes", "operator"), rule.ExitCodes.Operator,
			v1.ContainerRestartRuleOnExitCodesOpIn, v1.ContainerRestartRuleOnExitCodesOpNotIn)
		if rule.ExitCodes.Operator == v1.ContainerRestartRuleOnExitCodesOpIn && len(rule.ExitCodes.Values) == 0 {
			f.whole(field.ErrorTypeRequired, at.Child("exitCodes", "values"), "none: the rule is for no exit code")
		}
	}
}

func (f *findings) ports(ports []v1.ContainerPort, at *field.Path) {
	seen := map[string]int{}
	for i, p := range ports {
		at := at.Index(i)
		if p.ContainerPort < 1 || p.ContainerPort > 65535 {
			f.invalid(at.Child("containerPort"), p.ContainerPort, "expected 1 to 65535")
		}
		if p.HostPort < 0 || p.HostPort > 65535 {
			f.invalid(at.Child("hostPort"), p.HostPort, "expected 1 to 65535")
		}
		oneOf(f, at.Child("protocol"), p.Protocol, v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP)
		if p.HostIP != "" {
			f.ip(at.Child("hostIP"), p.HostIP)
		}
		if p.Name == "" {
			continue
		}
		f.keeps(at.Child("name"), p.Name, portName)
		f.unique(at.Child("name"), p.Name, seen, i, "ports")
	}
}

// hostPorts checks that no two ports of a pod want the same port of the host.
func (f *findings) hostPorts(c *v1.Container, hostNetwork bool, taken map[string]*field.Path, at *field.Path) {
	for i, p := range c.Ports {
		ports := at.Child("ports")
		at := ports.Index(i).Child("hostPort")
		if p.HostPort == 0 {
			continue
		}
		if hostNetwork && p.HostPort != p.ContainerPort {
			needs := []*field.Path{ports.Index(i).Child("containerPort"), field.NewPath("spec", "hostNetwork")}
			f.ifRead(needs...).invalid(at, p.HostPort, "expected %d, the container port, with hostNetwork", p.ContainerPort)
		}
		key := fmt.Sprint(p.HostIP, "/", p.Protocol, "/", p.HostPort)
		if first, ok := taken[key]; ok {
			f.duplicate(at, p.HostPort, "%s is the same port of the host", first)
			continue
		}
		taken[key] = at
	}
}

func (f *findings) env(env []v1.EnvVar, at *field.Path) {
	for i, e := range env {
		at := at.Index(i)
		f.named(at.Child("name"), e.Name, envName)
		if e.ValueFrom == nil {
			continue
		}
		from := at.Child("valueFrom")
		if e.Value != "" {
			f.forbidden(from, "expected either value or valueFrom")
		}
		f.exactlyOne(from, "a source", map[string]bool{
			"fieldRef":         e.ValueFrom.FieldRef != nil,
			"resourceFieldRef": e.ValueFrom.ResourceFieldRef != nil,
			"configMapKeyRef":  e.ValueFrom.ConfigMapKeyRef != nil,
			"secretKeyRef":     e.ValueFrom.SecretKeyRef != nil,
			"fileKeyRef":       e.ValueFrom.FileKeyRef != nil,
		})
		f.fieldRef(e.ValueFrom.FieldRef, from.Child("fieldRef"), envFields)
		f.resourceFieldRef(e.ValueFrom.ResourceFieldRef, from.Child("resourceFieldRef"))
	}
}

// exactlyOne wants one of the named fields set.
func (f *findings) exactlyOne(at *field.Path, what string, given map[string]bool) {
	var set, all []string
	for _, name := range sortedKeys(given) {
		all = append(all, name)
		if given[name] {
			set = append(set, name)
		}
	}
	if len(all) == 0 {
		f.whole(field.ErrorTypeRequired, at, "empty: expected %s", what)
	} else if len(set) == 0 {
		f.whole(field.ErrorTypeRequired, at, "empty: expected %s, one of %s", what, strings.Join(all, ", "))
	} else if len(set) > 1 {
		f.whole(field.ErrorTypeForbidden, at, "%s are set: expected one of them", strings.Join(set, " and "))
	}
}

func (f *findings) mounts(c *v1.Container, volumes map[string]bool, at *field.Path) {
	paths := map[string]int{}
	for i, m := range c.VolumeMounts {
		at := at.Child("volumeMounts").Index(i)
		f.volumeName(at.Child("name"), m.Name, volumes)
		if m.MountPath == "" {
			f.required(at.Child("mountPath"), "expected a path in the container")
		} else if strings.Contains(m.MountPath, ":") {
			f.invalid(at.Child("mountPath"), m.MountPath, "expected a path without ':'")
		} else {
			if first, ok := paths[path.Clean(m.MountPath)]; ok {
				f.duplicate(at.Child("mountPath"), m.MountPath, "volumeMounts[%d] is mounted there", first)
			} else {
				paths[path.Clean(m.MountPath)] = i
			}
		}
		f.subPath(at.Child("subPath"), m.SubPath)
		f.subPath(at.Child("subPathExpr"), m.SubPathExpr)
		if m.SubPath != "" && m.SubPathExpr != "" {
			f.forbidden(at.Child("subPathExpr"), "expected either subPath or subPathExpr")
		}
	}
	for i, d := range c.VolumeDevices {
		at := at.Child("volumeDevices").Index(i)
		f.volumeName(at.Child("name"), d.Name, volumes)
		if d.DevicePath == "" {
			f.required(at.Child("devicePath"), "expected a path in the container")
		}
	}
}

func (f *findings) volumeName(at *field.Path, name string, volumes map[string]bool) {
	if name == "" {
		f.required(at, "expected the name of a volume")
	} else if !volumes[name] {
		f.ifRead(field.NewPath("spec", "volumes")).notFound(at, name, "the pod has no volume of this name")
	}
}

// subPath must stay within the volume.
func (f *findings) subPath(at *field.Path, sub string) {
	if sub == "" {
		return
	}
	if strings.HasPrefix(sub, "/") || upwards(sub) {
		f.invalid(at, sub, "expected a relative path without '..'")
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

func (f *findings) security(s *v1.SecurityContext, at *field.Path) {
	if s == nil {
		return
	}
	inRange(f, at.Child("runAsUser"), s.RunAsUser, 0)
	inRange(f, at.Child("runAsGroup"), s.RunAsGroup, 0)
	f.profiles(s.SeccompProfile, s.AppArmorProfile, at)
	if s.Privileged != nil && *s.Privileged && s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation {
		f.ifRead(at.Child("privileged")).invalid(at.Child("allowPrivilegeEscalation"), false, "expected true with privileged")
	}
}

// resources checks quantities: not negative, requests within limits, and whole
// numbers of what comes in pieces.
func (f *findings) resources(r *v1.ResourceRequirements, at *field.Path) {
	f.quantities(r.Limits, at.Child("limits"))
	f.quantities(r.Requests, at.Child("requests"))
	for _, name := range sortedKeys(r.Requests) {
		request := r.Requests[name]
		limit, ok := r.Limits[name]
		g, at := f.ifRead(at.Child("limits").Key(string(name))), at.Child("requests").Key(string(name))
		if !ok {
			if !native(name) {
				g.invalid(at, &request, "expected a limit of the same amount")
			}
		} else if request.Cmp(limit) > 0 {
			g.invalid(at, &request, "expected at most the limit, %s", limit.String())
		} else if (!native(name) || hugePages(name)) && request.Cmp(limit) != 0 {
			g.invalid(at, &request, "expected the same as the limit, %s", limit.String())
		}
	}
}

func (f *findings) quantities(list v1.ResourceList, at *field.Path) {
	for _, name := range sortedKeys(list) {
		quantity, at := list[name], at.Key(string(name))
		f.resourceName(name, at)
		if quantity.Sign() < 0 {
			f.invalid(at, &quantity, "expected zero or more")
		}
		if whole := quantity.DeepCopy(); name != v1.ResourceCPU && !whole.RoundUp(0) {
			f.invalid(at, &quantity, "expected a whole number")
		}
	}
}

func (f *findings) resourceName(name v1.ResourceName, at *field.Path) {
	f.keeps(at, string(name), qualifiedName)
	if native(name) && !hugePages(name) && name != v1.ResourceCPU && name != v1.ResourceMemory && name != v1.ResourceEphemeralStorage {
		f.whole(field.ErrorTypeNotSupported, at, "unknown resource: expected cpu, memory, ephemeral-storage, hugepages-... or a name with a domain")
	}
}

// native: a resource of the node itself, not one that somebody's plugin counts.
func native(name v1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), "kubernetes.io/")
}

func hugePages(name v1.ResourceName) bool {
	return strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
}
