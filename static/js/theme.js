/* Theme, text size and density, before the first paint. */
(() => {
  const stored = (key) => { try { return localStorage.getItem(key); } catch { return null; } };
  const theme = stored("theme"), mono = stored("mono"), density = stored("density");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  if (["s", "m", "l", "xl"].includes(mono)) document.documentElement.dataset.mono = mono;
  if (["calm", "dense"].includes(density)) document.documentElement.dataset.density = density;
})();
