package operatortest_test

import (
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/podkeel/podkeel/examples/operatortest"
	"github.com/podkeel/podkeel/podmanager/podtest"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// TestGinkgo runs the specs of this file.
func TestGinkgo(t *testing.T) {
	gomega.RegisterFailHandler(ginkgo.Fail)
	ginkgo.RunSpecs(t, "Sites")
}

var _ = ginkgo.Describe("a Site", func() {
	ginkgo.It("reports a crash loop", func(ctx ginkgo.SpecContext) {
		server := apiservertest.New(apiservertest.Config{Resources: []metav1.APIResource{siteResource}})
		e := newAPIEnv(ginkgo.GinkgoTB(), &rest.Config{Host: "http://memory", Transport: server.RoundTripper(), QPS: -1}, time.Minute)
		e.createSite(1, podtest.Pod("p").Container("c", podtest.Exits(1)))
		site := &operatortest.Site{}
		gomega.Eventually(ctx, func(g gomega.Gomega) {
			g.Expect(e.Get(ctx, client.ObjectKey{Namespace: "default", Name: "site"}, site)).To(gomega.Succeed())
			g.Expect(site.Status.Problem).To(gomega.Equal("CrashLoopBackOff"))
		}).WithTimeout(time.Minute).Should(gomega.Succeed())
	})
})

var _ = ginkgo.Describe("a pod", func() {
	ginkgo.It("is ready after its readiness probe succeeds, in virtual time", func() {
		s := nodetest.New(ginkgo.GinkgoTB(), nodetest.Config{})
		s.Apply(podtest.Pod("web").Container("c").Probe(podtest.Readiness, podtest.FailsFor(time.Hour)).Build(ginkgo.GinkgoTB()))
		s.Run(30 * time.Minute)
		gomega.Expect(isReady(s.Pod("web"))).To(gomega.BeFalse())
		s.Run(time.Hour)
		gomega.Expect(s.Pod("web").Status.Phase).To(gomega.Equal(v1.PodRunning))
		gomega.Expect(isReady(s.Pod("web"))).To(gomega.BeTrue())
	})
})
