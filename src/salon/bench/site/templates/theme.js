(() => {
  const stored = () => { try { return localStorage.getItem("salon-theme"); } catch { return null; } };
  const named = new URLSearchParams(location.hash.slice(1)).get("theme") || stored();
  if (named === "dark" || named === "light") document.documentElement.dataset.theme = named;
})();
