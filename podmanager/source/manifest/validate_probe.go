package manifest

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podkeel/podkeel/internal/document"
)

// probes checks the probes and hooks of one container.
func (f *findings) probes(c *v1.Container, at *document.Path) {
	f.probe(c.LivenessProbe, true, at.Field("livenessProbe"))
	f.probe(c.StartupProbe, true, at.Field("startupProbe"))
	f.probe(c.ReadinessProbe, false, at.Field("readinessProbe"))
	if p := c.ReadinessProbe; p != nil && p.TerminationGracePeriodSeconds != nil {
		f.add(at.Fields("readinessProbe", "terminationGracePeriodSeconds"), "set: expected none, since readiness ends nothing")
	}
	if c.Lifecycle != nil {
		f.hook(c.Lifecycle.PostStart, at.Fields("lifecycle", "postStart"))
		f.hook(c.Lifecycle.PreStop, at.Fields("lifecycle", "preStop"))
	}
}

// probe checks one probe; once says that one success must be enough.
func (f *findings) probe(p *v1.Probe, once bool, at *document.Path) {
	if p == nil {
		return
	}
	f.exactlyOne(at, "a way to probe", map[string]bool{
		"exec": p.Exec != nil, "httpGet": p.HTTPGet != nil, "tcpSocket": p.TCPSocket != nil, "grpc": p.GRPC != nil,
	})
	within(f, at.Field("initialDelaySeconds"), &p.InitialDelaySeconds, 0)
	within(f, at.Field("timeoutSeconds"), &p.TimeoutSeconds, 1)
	within(f, at.Field("periodSeconds"), &p.PeriodSeconds, 1)
	within(f, at.Field("failureThreshold"), &p.FailureThreshold, 1)
	within(f, at.Field("terminationGracePeriodSeconds"), p.TerminationGracePeriodSeconds, 1)
	if once && p.SuccessThreshold != 1 {
		f.add(at.Field("successThreshold"), "%d: expected 1 for this kind of probe", p.SuccessThreshold)
	} else {
		within(f, at.Field("successThreshold"), &p.SuccessThreshold, 1)
	}
	f.command(p.Exec, at.Field("exec"))
	f.http(p.HTTPGet, at.Field("httpGet"))
	f.tcp(p.TCPSocket, at.Field("tcpSocket"))
	if p.GRPC != nil && (p.GRPC.Port < 1 || p.GRPC.Port > 65535) {
		f.add(at.Fields("grpc", "port"), "%d: expected 1 to 65535", p.GRPC.Port)
	}
}

func (f *findings) hook(h *v1.LifecycleHandler, at *document.Path) {
	if h == nil {
		return
	}
	f.exactlyOne(at, "something to do", map[string]bool{
		"exec": h.Exec != nil, "httpGet": h.HTTPGet != nil, "tcpSocket": h.TCPSocket != nil, "sleep": h.Sleep != nil,
	})
	f.command(h.Exec, at.Field("exec"))
	f.http(h.HTTPGet, at.Field("httpGet"))
	f.tcp(h.TCPSocket, at.Field("tcpSocket"))
	if h.Sleep != nil {
		within(f, at.Fields("sleep", "seconds"), &h.Sleep.Seconds, 0)
	}
}

func (f *findings) command(e *v1.ExecAction, at *document.Path) {
	if e != nil && len(e.Command) == 0 {
		f.add(at.Field("command"), "missing: expected a command")
	}
}

func (f *findings) tcp(t *v1.TCPSocketAction, at *document.Path) {
	if t != nil {
		f.portRef(t.Port, at.Field("port"))
	}
}

func (f *findings) http(get *v1.HTTPGetAction, at *document.Path) {
	if get == nil {
		return
	}
	f.portRef(get.Port, at.Field("port"))
	oneOf(f, at.Field("scheme"), get.Scheme, v1.URISchemeHTTP, v1.URISchemeHTTPS)
	for i, header := range get.HTTPHeaders {
		f.named(at.Field("httpHeaders").At(i).Field("name"), header.Name, headerName)
		if strings.ContainsAny(header.Value, "\r\n") {
			f.add(at.Field("httpHeaders").At(i).Field("value"), "%s: expected one line", document.Quote(header.Value))
		}
	}
}

// portRef checks a number or name. A name no port has is a failing probe, as
// upstream, since ports of the image need no entry (F26).
func (f *findings) portRef(port intstr.IntOrString, at *document.Path) {
	if port.Type == intstr.Int {
		if port.IntVal < 1 || port.IntVal > 65535 {
			f.add(at, "%d: expected 1 to 65535, or a port's name", port.IntVal)
		}
		return
	}
	f.keeps(at, port.StrVal, portName)
}
