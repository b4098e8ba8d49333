package apiservertest

import (
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
)

func withVolume(pod *v1.Pod, source v1.VolumeSource) {
	pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "volume", VolumeSource: source})
}

func withConfigMap(pod *v1.Pod, name string) {
	withVolume(pod, v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: name}}})
}

func withToken(pod *v1.Pod, audience string) {
	withVolume(pod, v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{
		{ServiceAccountToken: &v1.ServiceAccountTokenProjection{Path: "token", Audience: audience}},
	}}})
}

var objectCases = []Case{
	{"object/configmap", "The feed of a config map that a pod of the node names shows the object and its changes.", objectConfigMap},
	{"object/secret", "The feed of a secret that a pod of the node names shows the object.", objectSecret},
	{"object/absent", "An object that a pod names and that does not exist is an empty list; it is shown when it comes.", objectAbsent},
	{"object/unrelated", "An object that no pod of the node names is refused with reason Forbidden.", objectUnrelated},
	{"object/mirror", "A pod of another node gives no rights.", objectForeign},
	{"object/services", "The services are those with a cluster IP.", objectServices},
	{"object/runtimeclasses", "All runtime classes are shown.", objectRuntimeClasses},
	{"object/claim", "A claim that a pod of the node names can be read, and the volume that it is bound to; no others.", objectClaim},
	{"event/create", "Events can be created and patched.", eventCreate},
}

func (b *bench) createConfigMap(value string) *v1.ConfigMap {
	return adminCreate(b, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: b.h.Namespace, Name: b.objectName("map")}, Data: map[string]string{"key": value}})
}

func objectConfigMap(b *bench) {
	object := b.createConfigMap("1")
	b.createPod("a", func(pod *v1.Pod) { withConfigMap(pod, object.Name) })
	feed := b.h.Server.Objects().ConfigMap(b.h.Namespace, object.Name)
	b.retryUntilAllowed("List", func() error {
		l, err := feed.List(b.ctx, "")
		b.Check(err != nil || len(l.Items) == 1 && l.Items[0].Data["key"] == "1", "the list has %d objects", len(l.Items))
		return err
	})
	w := startWatch(b, feed, apiserver.WatchOptions{SendInitialEvents: true})
	names := w.readInitialEvents()
	b.Check(len(names) == 1, "the initial events are %q", names)
	adminCreate(b, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: b.h.Namespace, Name: b.objectName("unrelated")}})
	object.Data["key"] = "2"
	_, err := b.h.Admin.Update(b.ctx, object)
	b.Must(err, "Update")
	e := w.mustReadEventSkippingBookmarks()
	b.Check(e.Type == apiserver.Modified && e.Object.Data["key"] == "2", "%s %s", e.Type, e.Object.Name)
	b.Must(b.h.Admin.Delete(b.ctx, object, nil), "Delete")
	w.requireEvents("DELETED " + object.Name)
}

func objectSecret(b *bench) {
	object := adminCreate(b, &v1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: b.h.Namespace, Name: b.objectName("secret")}, Data: map[string][]byte{"key": {0, 1}}})
	b.createPod("a", func(pod *v1.Pod) {
		pod.Spec.Containers[0].EnvFrom = []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: object.Name}}}}
	})
	b.retryUntilAllowed("List", func() error {
		l, err := b.h.Server.Objects().Secret(b.h.Namespace, object.Name).List(b.ctx, "")
		b.Check(err != nil || len(l.Items) == 1 && string(l.Items[0].Data["key"]) == "\x00\x01", "the list has %d objects", len(l.Items))
		return err
	})
}

func objectAbsent(b *bench) {
	b.createPod("a", func(pod *v1.Pod) { withConfigMap(pod, b.objectName("map")) })
	feed := b.h.Server.Objects().ConfigMap(b.h.Namespace, b.objectName("map"))
	w := startWatch(b, feed, apiserver.WatchOptions{SendInitialEvents: true})
	names := w.readInitialEvents()
	b.Check(len(names) == 0, "the initial events are %q", names)
	b.createConfigMap("1")
	w.requireEvents("ADDED " + b.objectName("map"))
}

func objectUnrelated(b *bench) {
	object := b.createConfigMap("1")
	b.createPod("a")
	for _, name := range []string{object.Name, b.objectName("none")} {
		_, err := b.h.Server.Objects().ConfigMap(b.h.Namespace, name).List(b.ctx, "")
		b.requireReason(err, "List of a config map", metav1.StatusReasonForbidden)
		_, err = b.h.Server.Objects().ConfigMap(b.h.Namespace, name).Watch(b.ctx, apiserver.WatchOptions{SendInitialEvents: true})
		b.requireReason(err, "Watch of a config map", metav1.StatusReasonForbidden)
		_, err = b.h.Server.Objects().Secret(b.h.Namespace, name).List(b.ctx, "")
		b.requireReason(err, "List of a secret", metav1.StatusReasonForbidden)
	}
}

func objectForeign(b *bench) {
	object := b.createConfigMap("1")
	b.createPod("a", b.setNodeNameToOtherNode, func(pod *v1.Pod) { withConfigMap(pod, object.Name) })
	_, err := b.h.Server.Objects().ConfigMap(b.h.Namespace, object.Name).List(b.ctx, "")
	b.requireReason(err, "List", metav1.StatusReasonForbidden)
}

func objectServices(b *bench) {
	service := func(short, ip string, kind v1.ServiceType) {
		s := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: b.h.Namespace, Name: b.objectName(short)}}
		s.Spec = v1.ServiceSpec{ClusterIP: ip, Type: kind, Ports: []v1.ServicePort{{Port: 80}}}
		if kind == v1.ServiceTypeExternalName {
			s.Spec.ExternalName, s.Spec.Ports = "example.org", nil
		}
		adminCreate(b, s)
	}
	service("with", "10.0.0.77", v1.ServiceTypeClusterIP)
	service("headless", v1.ClusterIPNone, v1.ServiceTypeClusterIP)
	service("external", "", v1.ServiceTypeExternalName)
	l, err := b.h.Server.Objects().Services().List(b.ctx, "")
	b.Must(err, "List")
	found := map[string]bool{}
	for _, s := range l.Items {
		found[s.Name] = true
	}
	b.Check(found[b.objectName("with")] && !found[b.objectName("headless")] && !found[b.objectName("external")], "the services are %v", found)
}

func objectRuntimeClasses(b *bench) {
	class := adminCreate(b, &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: b.objectName("class")}, Handler: "runc"})
	w := startWatch(b, b.h.Server.Objects().RuntimeClasses(), apiserver.WatchOptions{SendInitialEvents: true})
	names := w.readInitialEvents()
	b.Check(len(names) == 1 && names[0] == class.Name, "the runtime classes are %q", names)
}

func eventCreate(b *bench) {
	now := metav1.NewTime(b.executor.Now().Truncate(time.Second))
	event := &v1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: b.h.Namespace, Name: b.objectName("event")},
		InvolvedObject: v1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: b.h.Namespace, Name: "a"},
		Reason:         "Started", Message: "m", Type: v1.EventTypeNormal, Count: 1, FirstTimestamp: now, LastTimestamp: now,
		Source: v1.EventSource{Component: "test", Host: b.h.Node},
	}
	b.created = append(b.created, event.DeepCopy())
	out, err := b.h.Server.Events().CreateEvent(b.ctx, event)
	b.Must(err, "CreateEvent")
	b.Check(out.UID != "" && out.Reason == "Started", "the event is %+v", out)
	_, err = b.h.Server.Events().CreateEvent(b.ctx, event)
	b.requireReason(err, "a second event of the name", metav1.StatusReasonAlreadyExists)
	out, err = b.h.Server.Events().PatchEvent(b.ctx, event.Namespace, event.Name, []byte(`{"count":2}`))
	b.Must(err, "PatchEvent")
	b.Check(out.Count == 2 && out.Message == "m", "the event is %+v", out)
	_, err = b.h.Server.Events().PatchEvent(b.ctx, event.Namespace, b.objectName("none"), []byte(`{"count":2}`))
	b.requireReason(err, "a patch of no event", metav1.StatusReasonNotFound)
}

var tokenCases = []Case{
	{"token/bound", "A token that is bound to a pod of the node is granted, with its expiry.", tokenBound},
	{"token/refused", "A token without a pod, for another pod, or for another audience is refused with reason Forbidden; a short one with reason Invalid.", tokenRefused},
}

func newTokenRequest(pod *v1.Pod, audiences ...string) *authenticationv1.TokenRequest {
	seconds := int64(1200)
	return &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences: audiences, ExpirationSeconds: &seconds,
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
	}}
}

func tokenBound(b *bench) {
	pod := b.createPod("a", func(pod *v1.Pod) { withToken(pod, "vault") })
	b.retryUntilAllowed("CreateToken", func() error {
		out, err := b.h.Server.Tokens().CreateToken(b.ctx, b.h.Namespace, "default", newTokenRequest(pod, "vault"))
		if err != nil {
			return err
		}
		left := out.Status.ExpirationTimestamp.Sub(b.executor.Now())
		b.Check(out.Status.Token != "" && left > 15*time.Minute && left < 25*time.Minute, "the token expires after %s", left)
		return nil
	})
}

func tokenRefused(b *bench) {
	tokenBound(b)
	pod := b.createPod("b", func(pod *v1.Pod) { withToken(pod, "vault") })
	other := b.createPod("other", b.setNodeNameToOtherNode, func(pod *v1.Pod) { withToken(pod, "vault") })
	for what, request := range map[string]*authenticationv1.TokenRequest{
		"of another node's pod": newTokenRequest(other, "vault"),
		"of another audience":   newTokenRequest(pod, "bank"),
		"of two audiences":      newTokenRequest(pod, "vault", "bank"),
		"without a pod":         {},
		"of another UID":        newTokenRequest(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, UID: "00000000-1111-2222-3333-444444444444"}}, "vault"),
		"without a UID":         newTokenRequest(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}}, "vault"),
	} {
		_, err := b.h.Server.Tokens().CreateToken(b.ctx, b.h.Namespace, "default", request)
		b.requireReason(err, "a token "+what, metav1.StatusReasonForbidden)
	}
	short, seconds := newTokenRequest(pod, "vault"), int64(60)
	short.Spec.ExpirationSeconds = &seconds
	b.created = append(b.created, pod)
	_, err := b.h.Server.Tokens().CreateToken(b.ctx, b.h.Namespace, "default", short)
	b.requireReason(err, "a token of a minute", metav1.StatusReasonInvalid)
}

func objectClaim(b *bench) {
	volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: b.objectName("volume")}, Spec: v1.PersistentVolumeSpec{
		Capacity: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
		PersistentVolumeSource: v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/srv"}},
		ClaimRef:               &v1.ObjectReference{Namespace: b.h.Namespace, Name: b.objectName("claim")},
	}}
	claim := func(short string) *v1.PersistentVolumeClaim {
		return adminCreate(b, &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: b.h.Namespace, Name: b.objectName(short)}, Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, VolumeName: volume.Name, StorageClassName: new(""),
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
		}})
	}
	made := claim("claim")
	other := claim("other")
	adminCreate(b, volume)
	calls := b.h.Server.Claims()
	_, err := calls.GetClaim(b.ctx, b.h.Namespace, made.Name)
	b.requireReason(err, "GetClaim without a pod", metav1.StatusReasonForbidden)
	_, err = calls.GetVolume(b.ctx, volume.Name)
	b.requireReason(err, "GetVolume without a pod", metav1.StatusReasonForbidden)
	b.createPod("a", func(pod *v1.Pod) {
		withVolume(pod, v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: made.Name}})
	})
	b.retryUntilAllowed("GetClaim", func() error {
		have, err := calls.GetClaim(b.ctx, b.h.Namespace, made.Name)
		b.Check(err != nil || have.UID == made.UID && have.Spec.VolumeName == volume.Name, "it is %v", have)
		return err
	})
	b.retryUntilAllowed("GetVolume", func() error {
		have, err := calls.GetVolume(b.ctx, volume.Name)
		b.Check(err != nil || have.Spec.HostPath.Path == "/srv", "it is %v", have)
		return err
	})
	_, err = calls.GetClaim(b.ctx, b.h.Namespace, other.Name)
	b.requireReason(err, "GetClaim of another", metav1.StatusReasonForbidden)
	_, err = calls.GetVolume(b.ctx, b.objectName("none"))
	b.requireReason(err, "GetVolume of another", metav1.StatusReasonForbidden)
}
