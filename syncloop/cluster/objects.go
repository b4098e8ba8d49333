package cluster

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/cluster/internal/objects"
)

// ReasonAPIReference is why a static pod is refused that refers to objects of the API server.
const ReasonAPIReference = "StaticPodAPIReference"

// buildObjects makes what pods refer to at the API server, and the volumes that show it.
func (c *Node) buildObjects() (err error) {
	n := &c.config.Node
	config := objects.Config{
		Objects: c.config.Server.Objects(), Contact: c.contact, Clock: n.Clock, Jitter: n.Jitter, Log: n.Log,
		Changed: func(uid types.UID) { c.node.RequestSync(uid) },
	}
	if n.Volumes.Objects == nil {
		if c.objects, err = objects.New(config); err != nil {
			return err
		}
		n.Scheduling.Admit = append([]syncloop.PodAdmitHandler{admitStatic}, n.Scheduling.Admit...)
		n.Volumes.Objects, c.kept.pods, c.runs = c.objects, map[types.UID]uint64{}, append(c.runs, c.objects.Run)
	}
	if n.Containers.Services == nil {
		services, err := objects.NewServices(config)
		if err != nil {
			return err
		}
		n.Containers.Services, c.runs = services, append(c.runs, services.Run)
	}
	if n.Containers.RuntimeClass == nil {
		classes, err := objects.NewRuntimeClasses(config, func() { c.node.Scheduling().Recheck() })
		if err != nil {
			return err
		}
		n.Containers.RuntimeClass, c.runs = classes.Handler, append(c.runs, classes.Run)
	}
	if n.Volumes.Tokens == nil {
		c.tokens, err = objects.NewTokens(objects.TokensConfig{
			Tokens: c.config.Server.Tokens(), Contact: c.contact, Changed: config.Changed, Clock: n.Clock, Jitter: n.Jitter,
		})
		if err != nil {
			return err
		}
		n.Volumes.Tokens, c.runs = c.tokens, append(c.runs, c.tokens.Run)
	}
	if n.Volumes.Claims == nil {
		if c.claims, err = objects.NewClaims(objects.ClaimsConfig{Server: c.config.Server, NodeName: c.config.name(), Contact: c.contact}); err != nil {
			return err
		}
		n.Volumes.Claims = c.claims
	}
	if n.Volumes.Manager == nil && c.config.Volumes != nil {
		n.Volumes.Manager, n.Volumes.Files, err = c.config.Volumes(*n)
	}
	return err
}

// hooks has the cluster's parts follow what happens to pods, before the given hooks.
func (c *Node) hooks(given podworkers.Hooks) {
	h := &c.config.Node.Hooks.Workers
	h.Syncing = func(pod *v1.Pod, incarnation uint64) {
		c.keep(pod, incarnation)
		if given.Syncing != nil {
			given.Syncing(pod, incarnation)
		}
	}
	h.Phase = func(uid types.UID, incarnation uint64, phase lifecycle.Phase) {
		c.mirrors.Recheck()
		if phase == lifecycle.Finished {
			c.release(uid, incarnation)
			c.forgetToken(uid)
			if c.claims != nil {
				c.claims.Forget(uid) // Another pod may have its volumes.
			}
		}
		if given.Phase != nil {
			given.Phase(uid, incarnation, phase)
		}
	}
	h.Forgotten = func(uid types.UID) {
		c.forgetToken(uid)
		if c.claims != nil {
			c.claims.Forget(uid)
		}
		if given.Forgotten != nil {
			given.Forgotten(uid)
		}
	}
}

// admitStatic refuses static pods that refer to objects of the API server, as the kubelet does: a
// node may read none for them, and a server takes no mirror pod of them.
var admitStatic = syncloop.PodAdmitAloneFunc(func(attrs syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
	if named := objects.ReferenceNames(attrs.Pod); podmanager.IsStaticPod(attrs.Pod) && len(named) > 0 {
		return syncloop.PodAdmitResult{Reason: ReasonAPIReference, Message: "a static pod must not refer to objects of the API server: " + strings.Join(named, ", ")}
	}
	return syncloop.PodAdmitResult{Admit: true}
})

// forgetToken ends the replacement of the tokens of a pod.
func (c *Node) forgetToken(uid types.UID) {
	if c.tokens != nil {
		c.tokens.Forget(uid)
	}
}

// keep has the objects of a pod followed from its first sync on. A static pod has no rights
// to any.
func (c *Node) keep(pod *v1.Pod, incarnation uint64) {
	if c.objects == nil || podmanager.IsStaticPod(pod) {
		return
	}
	c.kept.Lock()
	defer c.kept.Unlock()
	c.kept.pods[pod.UID] = incarnation
	c.objects.FollowReferences(pod)
}

// release ends keep. The next incarnation of the pod may be synced already.
func (c *Node) release(uid types.UID, incarnation uint64) {
	c.kept.Lock()
	defer c.kept.Unlock()
	if kept, ok := c.kept.pods[uid]; ok && kept == incarnation {
		delete(c.kept.pods, uid)
		c.objects.Release(uid)
	}
}
