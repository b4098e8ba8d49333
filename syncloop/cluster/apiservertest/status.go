package apiservertest

import (
	"fmt"
	"math"
	"net/netip"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// completeAndValidatePodStatus sets an empty QoS class and an empty observed generation to their values before,
// and completes the pod IPs. It then returns an error for changes that a server forbids.
func completeAndValidatePodStatus(before, after *v1.Pod) error {
	status := &after.Status
	if status.QOSClass == "" {
		status.QOSClass = before.Status.QOSClass
	}
	if status.ObservedGeneration == 0 {
		status.ObservedGeneration = before.Status.ObservedGeneration
	}
	completePodIPs(status)
	at := field.NewPath("status")
	var faults field.ErrorList
	if status.ObservedGeneration < 0 {
		faults = append(faults, field.Invalid(at.Child("observedGeneration"), status.ObservedGeneration, "must be greater than or equal to 0"))
	}
	if status.QOSClass != before.Status.QOSClass {
		faults = append(faults, field.Invalid(at.Child("qosClass"), status.QOSClass, "field is immutable"))
	}
	pods := make([]string, len(status.PodIPs))
	for i, ip := range status.PodIPs {
		pods[i] = ip.IP
	}
	hosts := make([]string, len(status.HostIPs))
	for i, ip := range status.HostIPs {
		hosts[i] = ip.IP
	}
	faults = append(faults, validateAddresses(at.Child("podIPs"), pods)...)
	faults = append(faults, validateAddresses(at.Child("hostIPs"), hosts)...)
	if len(hosts) > 0 && hosts[0] != status.HostIP {
		faults = append(faults, field.Invalid(at.Child("hostIPs").Index(0), hosts[0], "must be equal to `hostIP`"))
	}
	if name := status.NominatedNodeName; name != "" && name != before.Status.NominatedNodeName && before.Spec.NodeName != "" {
		faults = append(faults, field.Forbidden(at.Child("nominatedNodeName"), "may not be set on a pod that is bound"))
	}
	policy := before.Spec.RestartPolicy
	faults = append(faults, validateNoContainerRunsAgain(at.Child("containerStatuses"), before.Status.ContainerStatuses, status.ContainerStatuses, policy)...)
	faults = append(faults, validateNoContainerRunsAgain(at.Child("initContainerStatuses"), before.Status.InitContainerStatuses, status.InitContainerStatuses, policy)...)
	faults = append(faults, validateContainerUsers(at.Child("containerStatuses"), status.ContainerStatuses)...)
	faults = append(faults, validateContainerUsers(at.Child("initContainerStatuses"), status.InitContainerStatuses)...)
	faults = append(faults, validateContainerUsers(at.Child("ephemeralContainerStatuses"), status.EphemeralContainerStatuses)...)
	if len(faults) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, before.Name, faults)
}

// completePodIPs sets podIP from the first of podIPs, or podIPs from podIP. If both are set and differ, a list
// with only podIP replaces podIPs. Host addresses are unchanged.
func completePodIPs(status *v1.PodStatus) {
	if ip := status.PodIP; ip != "" && (len(status.PodIPs) == 0 || status.PodIPs[0].IP != ip) {
		status.PodIPs = []v1.PodIP{{IP: ip}}
	}
	if len(status.PodIPs) > 0 {
		status.PodIP = status.PodIPs[0].IP
	}
}

// validateAddresses returns a fault for each invalid address and for each second address of an IP family.
func validateAddresses(at *field.Path, ips []string) (faults field.ErrorList) {
	families := map[bool]bool{}
	for i, ip := range ips {
		a, err := netip.ParseAddr(ip)
		if err != nil {
			faults = append(faults, field.Invalid(at.Index(i), ip, "must be a valid IP address"))
			continue
		}
		if families[a.Is4()] {
			faults = append(faults, field.Invalid(at, ip, "may specify no more than one IP for each IP family"))
		}
		families[a.Is4()] = true
	}
	return faults
}

// validateNoContainerRunsAgain returns a fault for each container that is terminated before and not terminated
// after, although the restart policy does not restart it.
func validateNoContainerRunsAgain(at *field.Path, before, after []v1.ContainerStatus, policy v1.RestartPolicy) (faults field.ErrorList) {
	if policy == v1.RestartPolicyAlways {
		return nil
	}
	for i, b := range before {
		if b.State.Terminated == nil || policy == v1.RestartPolicyOnFailure && b.State.Terminated.ExitCode != 0 {
			continue
		}
		for _, a := range after {
			if a.Name == b.Name && a.State.Terminated == nil {
				faults = append(faults, field.Forbidden(at.Index(i).Child("state"), "may not be transitioned to non-terminated state"))
			}
		}
	}
	return faults
}

// validateContainerUsers returns a fault for each ID of a user or a group that is negative or too large. A user ID is at
// most the largest uint32, as since Kubernetes 1.37, and a group ID is at most the largest int32.
func validateContainerUsers(at *field.Path, statuses []v1.ContainerStatus) (faults field.ErrorList) {
	for i := range statuses {
		if statuses[i].User == nil || statuses[i].User.Linux == nil {
			continue
		}
		user, at := statuses[i].User.Linux, at.Index(i).Child("user", "linux")
		faults = append(faults, validateID(at.Child("uid"), user.UID, math.MaxUint32)...)
		faults = append(faults, validateID(at.Child("gid"), user.GID, math.MaxInt32)...)
		for j, group := range user.SupplementalGroups {
			faults = append(faults, validateID(at.Child("supplementalGroups").Index(j), group, math.MaxInt32)...)
		}
	}
	return faults
}

// validateID returns a fault for an ID that is negative or greater than the largest one.
func validateID(at *field.Path, id, largest int64) field.ErrorList {
	if id >= 0 && id <= largest {
		return nil
	}
	return field.ErrorList{field.Invalid(at, id, fmt.Sprintf("must be between 0 and %d, inclusive", largest))}
}
