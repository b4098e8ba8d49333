package validation

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkProbesAndHooks checks the three probes and the two hooks of one container. Liveness and startup probes
// need exactly one success, and a readiness probe may have no grace period.
func (f *findings) checkProbesAndHooks(c *v1.Container, at *field.Path) {
	f.checkProbe(c.LivenessProbe, true, at.Child("livenessProbe"))
	f.checkProbe(c.StartupProbe, true, at.Child("startupProbe"))
	f.checkProbe(c.ReadinessProbe, false, at.Child("readinessProbe"))
	if p := c.ReadinessProbe; p != nil && p.TerminationGracePeriodSeconds != nil {
		f.addForbidden(at.Child("readinessProbe", "terminationGracePeriodSeconds"), "expected none, since readiness ends nothing")
	}
	if c.Lifecycle != nil {
		f.checkHook(c.Lifecycle.PostStart, at.Child("lifecycle", "postStart"))
		f.checkHook(c.Lifecycle.PreStop, at.Child("lifecycle", "preStop"))
	}
}

// checkProbe checks the handler and the numbers of one probe, if it is set. With requireSingleSuccess the
// successThreshold must be 1.
func (f *findings) checkProbe(p *v1.Probe, requireSingleSuccess bool, at *field.Path) {
	if p == nil {
		return
	}
	f.requireExactlyOne(at, "a way to probe", map[string]bool{
		"exec": p.Exec != nil, "httpGet": p.HTTPGet != nil, "tcpSocket": p.TCPSocket != nil, "grpc": p.GRPC != nil,
	})
	checkAtLeastAndInt32(f, at.Child("initialDelaySeconds"), &p.InitialDelaySeconds, 0)
	checkAtLeastAndInt32(f, at.Child("timeoutSeconds"), &p.TimeoutSeconds, 1)
	checkAtLeastAndInt32(f, at.Child("periodSeconds"), &p.PeriodSeconds, 1)
	checkAtLeastAndInt32(f, at.Child("failureThreshold"), &p.FailureThreshold, 1)
	checkAtLeastAndInt32(f, at.Child("terminationGracePeriodSeconds"), p.TerminationGracePeriodSeconds, 1)
	if requireSingleSuccess && p.SuccessThreshold != 1 {
		f.addInvalid(at.Child("successThreshold"), p.SuccessThreshold, "expected 1 for this kind of probe")
	} else {
		checkAtLeastAndInt32(f, at.Child("successThreshold"), &p.SuccessThreshold, 1)
	}
	f.checkCommand(p.Exec, at.Child("exec"))
	f.checkHTTPGet(p.HTTPGet, at.Child("httpGet"))
	f.checkTCPSocket(p.TCPSocket, at.Child("tcpSocket"))
	if p.GRPC != nil && (p.GRPC.Port < 1 || p.GRPC.Port > 65535) {
		f.addInvalid(at.Child("grpc", "port"), p.GRPC.Port, "expected 1 to 65535")
	}
}

func (f *findings) checkHook(h *v1.LifecycleHandler, at *field.Path) {
	if h == nil {
		return
	}
	f.requireExactlyOne(at, "something to do", map[string]bool{
		"exec": h.Exec != nil, "httpGet": h.HTTPGet != nil, "tcpSocket": h.TCPSocket != nil, "sleep": h.Sleep != nil,
	})
	f.checkCommand(h.Exec, at.Child("exec"))
	f.checkHTTPGet(h.HTTPGet, at.Child("httpGet"))
	f.checkTCPSocket(h.TCPSocket, at.Child("tcpSocket"))
	if h.Sleep != nil {
		checkAtLeastAndInt32(f, at.Child("sleep", "seconds"), &h.Sleep.Seconds, 0)
	}
}

func (f *findings) checkCommand(e *v1.ExecAction, at *field.Path) {
	if e != nil && len(e.Command) == 0 {
		f.addRequired(at.Child("command"), "expected a command")
	}
}

func (f *findings) checkTCPSocket(t *v1.TCPSocketAction, at *field.Path) {
	if t != nil {
		f.checkPortRef(t.Port, at.Child("port"))
	}
}

func (f *findings) checkHTTPGet(get *v1.HTTPGetAction, at *field.Path) {
	if get == nil {
		return
	}
	f.checkPortRef(get.Port, at.Child("port"))
	checkOneOf(f, at.Child("scheme"), get.Scheme, v1.URISchemeHTTP, v1.URISchemeHTTPS)
	for i, header := range get.HTTPHeaders {
		f.requireName(at.Child("httpHeaders").Index(i).Child("name"), header.Name, headerNameFormat)
		if strings.ContainsAny(header.Value, "\r\n") {
			f.addInvalid(at.Child("httpHeaders").Index(i).Child("value"), header.Value, "expected one line")
		}
	}
}

// checkPortRef checks that a port is a number from 1 to 65535 or has the format of a port name. The container
// need not have a port of that name, as in the API server; a probe then fails at run time.
func (f *findings) checkPortRef(port intstr.IntOrString, at *field.Path) {
	if port.Type == intstr.Int {
		if port.IntVal < 1 || port.IntVal > 65535 {
			f.addInvalid(at, port.IntVal, "expected 1 to 65535, or a port's name")
		}
		return
	}
	f.checkFormat(at, port.StrVal, portNameFormat)
}
