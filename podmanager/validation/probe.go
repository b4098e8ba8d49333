package validation

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// probes checks the probes and hooks of one container.
func (f *findings) probes(c *v1.Container, at *field.Path) {
	f.probe(c.LivenessProbe, true, at.Child("livenessProbe"))
	f.probe(c.StartupProbe, true, at.Child("startupProbe"))
	f.probe(c.ReadinessProbe, false, at.Child("readinessProbe"))
	if p := c.ReadinessProbe; p != nil && p.TerminationGracePeriodSeconds != nil {
		f.forbidden(at.Child("readinessProbe", "terminationGracePeriodSeconds"), "expected none, since readiness ends nothing")
	}
	if c.Lifecycle != nil {
		f.hook(c.Lifecycle.PostStart, at.Child("lifecycle", "postStart"))
		f.hook(c.Lifecycle.PreStop, at.Child("lifecycle", "preStop"))
	}
}

// probe checks one probe; once says that one success must be enough.
func (f *findings) probe(p *v1.Probe, once bool, at *field.Path) {
	if p == nil {
		return
	}
	f.exactlyOne(at, "a way to probe", map[string]bool{
		"exec": p.Exec != nil, "httpGet": p.HTTPGet != nil, "tcpSocket": p.TCPSocket != nil, "grpc": p.GRPC != nil,
	})
	inRange(f, at.Child("initialDelaySeconds"), &p.InitialDelaySeconds, 0)
	inRange(f, at.Child("timeoutSeconds"), &p.TimeoutSeconds, 1)
	inRange(f, at.Child("periodSeconds"), &p.PeriodSeconds, 1)
	inRange(f, at.Child("failureThreshold"), &p.FailureThreshold, 1)
	inRange(f, at.Child("terminationGracePeriodSeconds"), p.TerminationGracePeriodSeconds, 1)
	if once && p.SuccessThreshold != 1 {
		f.invalid(at.Child("successThreshold"), p.SuccessThreshold, "expected 1 for this kind of probe")
	} else {
		inRange(f, at.Child("successThreshold"), &p.SuccessThreshold, 1)
	}
	f.command(p.Exec, at.Child("exec"))
	f.http(p.HTTPGet, at.Child("httpGet"))
	f.tcp(p.TCPSocket, at.Child("tcpSocket"))
	if p.GRPC != nil && (p.GRPC.Port < 1 || p.GRPC.Port > 65535) {
		f.invalid(at.Child("grpc", "port"), p.GRPC.Port, "expected 1 to 65535")
	}
}

func (f *findings) hook(h *v1.LifecycleHandler, at *field.Path) {
	if h == nil {
		return
	}
	f.exactlyOne(at, "something to do", map[string]bool{
		"exec": h.Exec != nil, "httpGet": h.HTTPGet != nil, "tcpSocket": h.TCPSocket != nil, "sleep": h.Sleep != nil,
	})
	f.command(h.Exec, at.Child("exec"))
	f.http(h.HTTPGet, at.Child("httpGet"))
	f.tcp(h.TCPSocket, at.Child("tcpSocket"))
	if h.Sleep != nil {
		inRange(f, at.Child("sleep", "seconds"), &h.Sleep.Seconds, 0)
	}
}

func (f *findings) command(e *v1.ExecAction, at *field.Path) {
	if e != nil && len(e.Command) == 0 {
		f.required(at.Child("command"), "expected a command")
	}
}

func (f *findings) tcp(t *v1.TCPSocketAction, at *field.Path) {
	if t != nil {
		f.portRef(t.Port, at.Child("port"))
	}
}

func (f *findings) http(get *v1.HTTPGetAction, at *field.Path) {
	if get == nil {
		return
	}
	f.portRef(get.Port, at.Child("port"))
	oneOf(f, at.Child("scheme"), get.Scheme, v1.URISchemeHTTP, v1.URISchemeHTTPS)
	for i, header := range get.HTTPHeaders {
		f.named(at.Child("httpHeaders").Index(i).Child("name"), header.Name, headerName)
		if strings.ContainsAny(header.Value, "\r\n") {
			f.invalid(at.Child("httpHeaders").Index(i).Child("value"), header.Value, "expected one line")
		}
	}
}

// portRef checks a number or name. A name no port has is a failing probe, as
// upstream, since ports of the image need no entry.
func (f *findings) portRef(port intstr.IntOrString, at *field.Path) {
	if port.Type == intstr.Int {
		if port.IntVal < 1 || port.IntVal > 65535 {
			f.invalid(at, port.IntVal, "expected 1 to 65535, or a port's name")
		}
		return
	}
	f.keeps(at, port.StrVal, portName)
}
