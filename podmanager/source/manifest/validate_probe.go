package manifest

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// probes checks the probes and hooks of one container.
func (f *findings) probes(c *v1.Container, at *fieldPath) {
	f.probe(c.LivenessProbe, true, at.field("livenessProbe"))
	f.probe(c.StartupProbe, true, at.field("startupProbe"))
	f.probe(c.ReadinessProbe, false, at.field("readinessProbe"))
	if p := c.ReadinessProbe; p != nil && p.TerminationGracePeriodSeconds != nil {
		f.add(at.fields("readinessProbe", "terminationGracePeriodSeconds"), "set: expected none, since readiness ends nothing")
	}
	if c.Lifecycle != nil {
		f.hook(c.Lifecycle.PostStart, at.fields("lifecycle", "postStart"))
		f.hook(c.Lifecycle.PreStop, at.fields("lifecycle", "preStop"))
	}
}

// probe checks one probe; once says that one success must be enough.
func (f *findings) probe(p *v1.Probe, once bool, at *fieldPath) {
	if p == nil {
		return
	}
	f.exactlyOne(at, "a way to probe", map[string]bool{
		"exec": p.Exec != nil, "httpGet": p.HTTPGet != nil, "tcpSocket": p.TCPSocket != nil, "grpc": p.GRPC != nil,
	})
	within(f, at.field("initialDelaySeconds"), &p.InitialDelaySeconds, 0)
	within(f, at.field("timeoutSeconds"), &p.TimeoutSeconds, 1)
	within(f, at.field("periodSeconds"), &p.PeriodSeconds, 1)
	within(f, at.field("failureThreshold"), &p.FailureThreshold, 1)
	within(f, at.field("terminationGracePeriodSeconds"), p.TerminationGracePeriodSeconds, 1)
	if once && p.SuccessThreshold != 1 {
		f.add(at.field("successThreshold"), "%d: expected 1 for this kind of probe", p.SuccessThreshold)
	} else {
		within(f, at.field("successThreshold"), &p.SuccessThreshold, 1)
	}
	f.command(p.Exec, at.field("exec"))
	f.http(p.HTTPGet, at.field("httpGet"))
	f.tcp(p.TCPSocket, at.field("tcpSocket"))
	if p.GRPC != nil && (p.GRPC.Port < 1 || p.GRPC.Port > 65535) {
		f.add(at.fields("grpc", "port"), "%d: expected 1 to 65535", p.GRPC.Port)
	}
}

func (f *findings) hook(h *v1.LifecycleHandler, at *fieldPath) {
	if h == nil {
		return
	}
	f.exactlyOne(at, "something to do", map[string]bool{
		"exec": h.Exec != nil, "httpGet": h.HTTPGet != nil, "tcpSocket": h.TCPSocket != nil, "sleep": h.Sleep != nil,
	})
	f.command(h.Exec, at.field("exec"))
	f.http(h.HTTPGet, at.field("httpGet"))
	f.tcp(h.TCPSocket, at.field("tcpSocket"))
	if h.Sleep != nil {
		within(f, at.fields("sleep", "seconds"), &h.Sleep.Seconds, 0)
	}
}

func (f *findings) command(e *v1.ExecAction, at *fieldPath) {
	if e != nil && len(e.Command) == 0 {
		f.add(at.field("command"), "missing: expected a command")
	}
}

func (f *findings) tcp(t *v1.TCPSocketAction, at *fieldPath) {
	if t != nil {
		f.portRef(t.Port, at.field("port"))
	}
}

func (f *findings) http(get *v1.HTTPGetAction, at *fieldPath) {
	if get == nil {
		return
	}
	f.portRef(get.Port, at.field("port"))
	oneOf(f, at.field("scheme"), get.Scheme, v1.URISchemeHTTP, v1.URISchemeHTTPS)
	for i, header := range get.HTTPHeaders {
		f.named(at.field("httpHeaders").at(i).field("name"), header.Name, headerName)
		if strings.ContainsAny(header.Value, "\r\n") {
			f.add(at.field("httpHeaders").at(i).field("value"), "%s: expected one line", quote(header.Value))
		}
	}
}

// portRef checks a number or name. A name no port has is a failing probe, as
// upstream, since ports of the image need no entry (F26).
func (f *findings) portRef(port intstr.IntOrString, at *fieldPath) {
	if port.Type == intstr.Int {
		if port.IntVal < 1 || port.IntVal > 65535 {
			f.add(at, "%d: expected 1 to 65535, or a port's name", port.IntVal)
		}
		return
	}
	f.keeps(at, port.StrVal, portName)
}
