export function init(app) {
  void app;
}
